package redispubsub_test

import (
	"context"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// If a proxy refuses to subscribe, in one of several ways, Subscribe returns an error at once.
func TestSubscribeBehindProxies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(r chaos.ScriptedRequest) string // "" closes the connection
		says   string
	}{
		"Envoy": {func(r chaos.ScriptedRequest) string {
			switch r.Cmd {
			case "PING":
				return "+PONG\r\n"
			case "SUBSCRIBE":
				return "-ERR unknown command 'SUBSCRIBE', with args beginning with: news\r\n"
			}
			return "+OK\r\n"
		}, "unknown command"},
		"twemproxy": {func(r chaos.ScriptedRequest) string {
			if r.Cmd == "PING" && len(r.Args) == 0 {
				return "+PONG\r\n"
			}
			return ""
		}, "a proxy closes the connection instead of subscribing"},
	} {
		t.Run(name, func(t *testing.T) {
			s := chaos.NewScripted(t, chaos.ScriptedOpts{Raw: true, Handler: func(conn *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
				reply := c.answer(r)
				if reply == "" {
					return net.ErrClosed
				}
				_, err := io.WriteString(conn, reply)
				return err
			}})
			require.ErrorContains(t, subscribeTo(t, s.Addr()), c.says)
		})
	}
	t.Run("nobody listens", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, l.Close())
		err = subscribeTo(t, l.Addr().String())
		require.ErrorContains(t, err, "connection refused")
		require.ErrorIs(t, err, redis.ErrNotSent)
	})
}

// subscribeTo returns the error of subscribing to a channel of the server at addr.
func subscribeTo(t *testing.T, addr string) error {
	t.Helper()
	conn, err := redisconn.Connect(t.Context(), addr, redisconn.Opts{Logger: redisconn.NoopLogger{}, IOTimeout: patience})
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	s, err := redispubsub.New(conn, redispubsub.Opts{Logger: redispubsub.NoopLogger{}})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err = s.NewSubscription(redispubsub.SubscriptionOpts{}).Subscribe(ctx, redispubsub.Channel("news"))
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	return err
}
