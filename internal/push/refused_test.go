package push

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/redis"
)

// If a healthy server refuses PING, the error counts as the answer. If the server refuses an
// earlier request in the same words, the owner of that request gets the error.
func TestARefusedPing(t *testing.T) {
	const (
		timeout    = 16 * time.Second
		subscribed = "*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n"
	)
	for name, c := range map[string]struct{ refusal, subscribe string }{
		"busy":        {"-BUSY Redis is busy running a script.\r\n", "-BUSY Redis is busy running a script.\r\n"},
		"loading":     {"-LOADING Redis is loading the dataset in memory\r\n", subscribed},
		"no master":   {"-MASTERDOWN Link with MASTER is down\r\n", subscribed},
		"disk":        {"-MISCONF Redis is configured to save RDB snapshots\r\n", subscribed},
		"not allowed": {"-NOPERM User a has no permissions to run the 'ping' command\r\n", subscribed},
		"refused":     {"-NOPERM User a has no permissions to run the 'ping' command\r\n", "-ERR no\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				beats := 0
				answer := func(server net.Conn, nonce []byte) {
					if string(nonce) == "fence" {
						_, _ = io.WriteString(server, c.subscribe)
					} else {
						beats++
					}
					_, _ = io.WriteString(server, c.refusal)
				}
				wrap := func(conn net.Conn) net.Conn { return conn }
				p, failure := dialed(t.Context(), dial.Config{Timeout: timeout, Dialer: piped(answer, wrap)}, true).Open(t.Context())
				require.Nil(t, failure)
				go func() { // ends when the socket ends
					time.Sleep(2 * timeout)
					_ = p.Send(redis.Req("SUBSCRIBE", "x"), redis.Req("PING", "fence"))
				}()
				var push redis.Push
				reply, pushed, err := p.Receive(&push)
				require.NoError(t, err)
				require.Greater(t, beats, 1, "they are not the owner's")
				require.Equal(t, c.subscribe == subscribed, pushed)
				if !pushed {
					require.Error(t, redis.AsError(reply))
				}
				reply, pushed, err = p.Receive(&push)
				require.NoError(t, err)
				require.False(t, pushed)
				require.Equal(t, []byte("fence"), reply)
				p.Close()
				time.Sleep(2 * timeout) // the server notices the end
			})
		})
	}
}
