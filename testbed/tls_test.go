package testbed

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCertificates(t *testing.T) {
	ca, err := NewCA()
	require.NoError(t, err)
	for name, c := range map[string]struct {
		issue func() (tls.Certificate, error)
		good  bool
	}{
		"server":        {ca.Server, true},
		"client":        {ca.Client, true},
		"expired":       {ca.Expired, false},
		"not yet valid": {ca.NotYetValid, false},
		"wrong host":    {ca.WrongHost, false},
		"unknown CA":    {ca.UnknownCA, false},
	} {
		t.Run(name, func(t *testing.T) {
			issued, err := c.issue()
			require.NoError(t, err)
			cert, err := x509.ParseCertificate(issued.Certificate[0])
			require.NoError(t, err)
			for _, host := range []string{"127.0.0.1", "::1", "localhost"} {
				_, err = cert.Verify(x509.VerifyOptions{Roots: ca.Pool(), DNSName: host,
					KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
				assert.Equal(t, c.good, err == nil, "%s: %v", host, err)
			}
			// Each bad certificate has only one fault: without that, it is valid.
			fixed := x509.VerifyOptions{Roots: ca.Pool(), CurrentTime: cert.NotBefore.Add(time.Second)}
			_, err = cert.Verify(fixed)
			assert.Equal(t, name != "unknown CA", err == nil, "%v", err)

			certPEM, keyPEM, err := encodePEM(issued)
			require.NoError(t, err)
			_, err = tls.X509KeyPair(certPEM, keyPEM)
			assert.NoError(t, err)
		})
	}
}

func TestEncodePEMFails(t *testing.T) {
	_, _, err := encodePEM(tls.Certificate{PrivateKey: "none"})
	assert.Error(t, err)
}
