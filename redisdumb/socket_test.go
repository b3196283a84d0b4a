package redisdumb_test

import (
	"crypto/tls"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisdumb"
	"github.com/joomcode/redispipe/testbed"
)

func TestAddresses(t *testing.T) {
	server := testbed.NewServer(t, testbed.Options{Unix: true})
	for _, addr := range []string{
		server.Addr(), "tcp://" + server.Addr(), server.UnixPath(), "unix://" + server.UnixPath(),
	} {
		assert.Equal(t, "PONG", redisdumb.Do(addr, "PING"), addr)
	}
	dir, name := filepath.Split(server.UnixPath())
	t.Chdir(dir)
	assert.Equal(t, "PONG", redisdumb.Do("./"+name, "PING"))
}

func TestBadAddresses(t *testing.T) {
	server := testbed.NewServer(t)
	require.NoError(t, server.Kill())
	for _, addr := range []string{
		server.Addr(), "nowhere", "127.0.0.1:99999999", "127.0.0.1:x", "::::", "tcp://a/b", "unix://./none", "/none", "\x00",
	} {
		err := redis.AsErrorx(redisdumb.Do(addr, "PING"))
		require.NotNil(t, err, addr)
		assert.True(t, err.IsOfType(redisdumb.ErrDial), "%v", err)
		assert.True(t, err.IsOfType(redis.ErrIO), "%v", err)
		assert.True(t, err.HasTrait(redis.ErrTraitNotSent), "%v", err)
		assert.True(t, err.HasTrait(redis.ErrTraitConnectivity), "%v", err)
	}
	for _, addr := range []string{"", "tcp://", "unix://"} {
		err := redis.AsErrorx(redisdumb.Do(addr, "PING"))
		require.NotNil(t, err, addr)
		assert.True(t, err.IsOfType(redis.ErrNoAddressProvided), "%v", err)
		assert.True(t, err.HasTrait(redis.ErrTraitNotSent), "%v", err)
	}
}

func TestTimeout(t *testing.T) {
	server := testbed.NewServer(t)
	conn := newConn(t, server.Addr())
	require.Equal(t, "PONG", conn.Do("PING"))
	conn.Timeout = 500 * time.Millisecond
	require.NoError(t, server.Pause())
	err := redis.AsErrorx(conn.Do("PING"))
	require.NotNil(t, err)
	assert.True(t, err.IsOfType(redis.ErrIO), "%v", err)
	assert.False(t, err.HasTrait(redis.ErrTraitNotSent), "%v", err)
	require.NoError(t, server.Resume())
	conn.Timeout = 0
	assert.Equal(t, []byte("mine"), conn.Do("ECHO", "mine"), "not the late PONG")
}

func TestServerRestarts(t *testing.T) {
	server := testbed.NewServer(t)
	conn := newConn(t, server.Addr())
	require.Equal(t, "PONG", conn.Do("PING"))
	require.NoError(t, server.Restart())
	err := redis.AsErrorx(conn.Do("PING"))
	require.NotNil(t, err)
	assert.True(t, err.IsOfType(redis.ErrIO), "%v", err)
	assert.Equal(t, "PONG", conn.Do("PING"))
}

func TestTLS(t *testing.T) {
	testbed.Needs(t, testbed.TLS)
	server := testbed.NewServer(t, testbed.Options{TLS: true, ClientCerts: true})
	config, err := server.ClientTLS()
	require.NoError(t, err)
	conn := newConn(t, server.TLSAddr())
	conn.TLSEnabled, conn.TLSConfig = true, config
	assert.Equal(t, "PONG", conn.Do("PING"))
	assert.Empty(t, config.ServerName, "the caller's config is left alone")
}

func TestTlsAddr(t *testing.T) {
	testbed.Needs(t, testbed.TLS)
	server := testbed.NewServer(t, testbed.Options{TLS: true})
	config, err := server.ClientTLS()
	require.NoError(t, err)
	conn := newConn(t, server.Addr())
	conn.TlsAddr, conn.TLSConfig = server.TLSAddr(), config
	assert.Equal(t, "PONG", conn.Do("PING"), "without TLS it is ignored")
	conn.Close()
	conn.TLSEnabled, conn.Addr = true, "127.0.0.1:1"
	assert.Equal(t, "PONG", conn.Do("PING"))
	conn.Close()
	conn.Addr, conn.TlsAddr = conn.TlsAddr, ""
	assert.Equal(t, "PONG", conn.Do("PING"), "empty, it leaves Addr as it is")
}

func TestTLSRefuses(t *testing.T) {
	testbed.Needs(t, testbed.TLS)
	ca, err := testbed.NewCA()
	require.NoError(t, err)
	for name, issue := range map[string]func() (tls.Certificate, error){
		"expired": ca.Expired, "not yet valid": ca.NotYetValid, "wrong host": ca.WrongHost, "unknown CA": ca.UnknownCA,
	} {
		t.Run(name, func(t *testing.T) {
			cert, err := issue()
			require.NoError(t, err)
			server := testbed.NewServer(t, testbed.Options{TLS: true, CA: ca, Certificate: &cert})
			requireTLSRefused(t, server, &tls.Config{RootCAs: ca.Pool()})
		})
	}
	t.Run("system roots by default", func(t *testing.T) {
		requireTLSRefused(t, testbed.NewServer(t, testbed.Options{TLS: true}), nil)
	})
}

func requireTLSRefused(t *testing.T, server *testbed.Server, config *tls.Config) {
	t.Helper()
	conn := newConn(t, server.TLSAddr())
	conn.TLSEnabled, conn.TLSConfig = true, config
	err := redis.AsErrorx(conn.Do("PING"))
	require.NotNil(t, err)
	var verification *tls.CertificateVerificationError
	assert.ErrorAs(t, err.Cause(), &verification)
	assert.True(t, err.HasTrait(redis.ErrTraitNotSent), "%v", err)
}
