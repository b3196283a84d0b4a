package redisconn_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/virtualtime"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// A PushSocket sends a PING while no message arrives. Its PONG confirms that no message was lost
// until then; without a PONG the socket ends.
func TestPushSocketOfAServerThatIsGone(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		var gone atomic.Bool
		p := &pipes{Answer: func(args []string) string {
			switch {
			case gone.Load():
				return ""
			case args[0] == "PING":
				return pong(args)
			}
			return "+OK\r\n"
		}}
		const timeout = time.Second
		conn, _ := connectPipes(t, p, redisconn.Opts{IOTimeout: timeout})
		socket, err := conn.OpenPush(t.Context())
		require.NoError(t, err)
		began := time.Now()
		received := make(chan error, 1)
		go func() {
			_, _, err := socket.Receive(new(redis.Push))
			received <- err
		}()
		time.Sleep(3 * timeout)
		require.Greater(t, socket.Confirmed().Sub(began), 2*timeout)
		gone.Store(true)
		require.ErrorContains(t, <-received, "no answer within")
		<-socket.Done()
		require.LessOrEqual(t, time.Since(began), 4*timeout)
	})
}
