package testbed

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// CA is a certificate authority created at run time. All certificates of this package are for
// 127.0.0.1, ::1 and localhost, and valid for a day, unless a method says otherwise. They work for
// servers and for clients. The certificate of the authority is valid for a week.
type CA struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// CertSpec describes a certificate. The zero value is a good one.
type CertSpec struct {
	// Hosts are names and IP addresses. Default: 127.0.0.1, ::1, localhost.
	Hosts []string
	// NotBefore and NotAfter bound the validity. Default: from an hour ago to a
	// day ahead.
	NotBefore, NotAfter time.Time
}

// NewCA creates an authority.
func NewCA() (*CA, error) {
	// The authority's certificate is valid for longer than those that it signs, so that a bad
	// certificate has only one fault.
	week := 7 * 24 * time.Hour
	template, err := CertSpec{
		NotBefore: time.Now().Add(-week), NotAfter: time.Now().Add(week),
	}.template("testbed CA")
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage |= x509.KeyUsageCertSign
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("testbed: make a CA: %w", err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("testbed: make a CA: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("testbed: make a CA: %w", err)
	}
	return &CA{cert: cert, key: key}, nil
}

// PEM returns the authority's own certificate.
func (a *CA) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// Pool returns a pool with only the authority.
func (a *CA) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// ClientConfig returns a configuration that trusts only the authority and has a certificate signed by
// it.
func (a *CA) ClientConfig() (*tls.Config, error) {
	cert, err := a.Client()
	if err != nil {
		return nil, err
	}
	return &tls.Config{RootCAs: a.Pool(), Certificates: []tls.Certificate{cert}}, nil
}

// Server issues a good certificate for a server.
func (a *CA) Server() (tls.Certificate, error) { return a.Issue(CertSpec{}) }

// Client issues a good certificate for a client.
func (a *CA) Client() (tls.Certificate, error) { return a.Issue(CertSpec{}) }

// Expired issues a certificate that expired an hour ago.
func (a *CA) Expired() (tls.Certificate, error) {
	now := time.Now()
	return a.Issue(CertSpec{NotBefore: now.Add(-2 * time.Hour), NotAfter: now.Add(-time.Hour)})
}

// NotYetValid issues a certificate that becomes valid in an hour.
func (a *CA) NotYetValid() (tls.Certificate, error) {
	return a.Issue(CertSpec{NotBefore: time.Now().Add(time.Hour)})
}

// WrongHost issues a certificate for another host.
func (a *CA) WrongHost() (tls.Certificate, error) {
	return a.Issue(CertSpec{Hosts: []string{"elsewhere.example", "192.0.2.1"}})
}

// UnknownCA returns a certificate signed by another authority of the same name.
func (a *CA) UnknownCA() (tls.Certificate, error) {
	other, err := NewCA()
	if err != nil {
		return tls.Certificate{}, err
	}
	return other.Issue(CertSpec{})
}

// Issue issues a certificate.
func (a *CA) Issue(spec CertSpec) (tls.Certificate, error) {
	template, err := spec.template("testbed")
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("testbed: make a certificate: %w", err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("testbed: make a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// template returns the certificate before it is signed.
func (c CertSpec) template(name string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("testbed: make a certificate: %w", err)
	}
	if c.Hosts == nil {
		c.Hosts = []string{"127.0.0.1", "::1", "localhost"}
	}
	if c.NotBefore.IsZero() {
		c.NotBefore = time.Now().Add(-time.Hour)
	}
	if c.NotAfter.IsZero() {
		c.NotAfter = time.Now().Add(24 * time.Hour)
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    c.NotBefore,
		NotAfter:     c.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, host := range c.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return template, nil
}

// encodePEM returns a certificate and its key in PEM, as in files.
func encodePEM(c tls.Certificate) (cert, key []byte, err error) {
	for _, der := range c.Certificate {
		cert = append(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		return nil, nil, fmt.Errorf("testbed: certificate's key: %w", err)
	}
	return cert, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
