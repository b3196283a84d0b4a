package redisconn_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// writePEM writes a certificate and its key to files.
func writePEM(t *testing.T, certFile, keyFile string, cert tls.Certificate, err error) {
	t.Helper()
	require.NoError(t, err)
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	require.NoError(t, err)
	for file, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: cert.Certificate[0]},
		keyFile:  {Type: "PRIVATE KEY", Bytes: key},
	} {
		require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	}
}

// The client reads its certificate for each handshake. After an expired one was replaced on disk,
// it connects without a restart.
func TestCertificateIsReloaded(t *testing.T) {
	testbed.Needs(t, testbed.TLS)
	ca, err := testbed.NewCA()
	require.NoError(t, err)
	s := testbed.NewServer(t, testbed.Options{TLS: true, ClientCerts: true, CA: ca})
	certFile, keyFile := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	cert, err := ca.Client()
	writePEM(t, certFile, keyFile, cert, err)
	log := &recorder{}
	conn := connect(t, s.TLSAddr(), redisconn.Opts{
		TLSEnabled: true, Logger: log, ReconnectPause: time.Millisecond,
		TLSConfig: &tls.Config{RootCAs: ca.Pool(), GetClientCertificate: ReloadedCertificate(certFile, keyFile)},
	})
	cert, err = ca.Expired()
	writePEM(t, certFile, keyFile, cert, err)
	require.NoError(t, conn.Ping(), "the connection stays")
	require.Equal(t, int64(1), s.Do("CLIENT KILL", "TYPE", "normal", "SKIPME", "yes"))
	eventually(t, "refused", func() bool { return log.Count("ConnectFailed") > 0 })
	requireNotSent(t, conntest.Event[redisconn.LogConnectFailed](log).Error, redisconn.ErrTLS)

	cert, err = ca.Client()
	writePEM(t, certFile, keyFile, cert, err)
	eventually(t, "connected again", func() bool { return conn.Ping() == nil })
	require.Equal(t, "OK", redis.Sync{S: conn}.Do("SET", "a", 1))
}
