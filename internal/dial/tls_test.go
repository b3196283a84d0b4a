package dial

import (
	"context"
	"crypto/tls"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// If a user's Dialer does not trust the server's certificate, the error is permanent, too.
func TestUntrustedByTheDialer(t *testing.T) {
	ca, err := testbed.NewCA()
	require.NoError(t, err)
	cert, err := ca.Expired()
	require.NoError(t, err)
	s := chaos.NewScripted(t, chaos.ScriptedOpts{TLS: &tls.Config{Certificates: []tls.Certificate{cert}}})
	address, err := ParseAddress(s.Addr())
	require.NoError(t, err)
	config := &tls.Config{ServerName: "a"}
	late := func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return tls.Client(conn, config), nil
	}
	for _, dialer := range []func(context.Context, string, string) (net.Conn, error){late, (&tls.Dialer{Config: config}).DialContext} {
		_, failure := New(t.Context(), Config{Address: address, Timeout: time.Minute, Dialer: dialer}).Open(t.Context())
		require.NotNil(t, failure)
		require.True(t, failure.IsOfType(ErrTLS), "%v", failure)
	}
}
