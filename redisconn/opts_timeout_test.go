package redisconn_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/virtualtime"
	"github.com/joomcode/redispipe/redisconn"
)

func TestDialTimeout(t *testing.T) {
	for _, c := range []struct {
		name string
		opts redisconn.Opts
		want time.Duration
	}{
		{"default", redisconn.Opts{}, time.Second},
		{"set", redisconn.Opts{DialTimeout: 100 * time.Millisecond}, 100 * time.Millisecond},
		{"IOTimeout", redisconn.Opts{IOTimeout: 3 * time.Second}, 3 * time.Second},
		{"over IOTimeout", redisconn.Opts{IOTimeout: time.Second, DialTimeout: time.Hour}, time.Hour},
		{"no IOTimeout", redisconn.Opts{IOTimeout: -1}, 5 * time.Second},
	} {
		t.Run("dialing, "+c.name, func(t *testing.T) {
			virtualtime.Run(t, func(t *testing.T) {
				began := time.Now()
				c.opts.Dialer, c.opts.Logger, c.opts.ReconnectPause = stuck, redisconn.NoopLogger{}, -1
				_, err := redisconn.Connect(background, "pipe:1", c.opts)
				requireNotSent(t, err, redisconn.ErrDial)
				require.Equal(t, c.want, time.Since(began))
				synctest.Wait()
			})
		})
		t.Run("handshake, "+c.name, func(t *testing.T) {
			virtualtime.Run(t, func(t *testing.T) {
				p := &pipes{Answer: func([]string) string { return "" }}
				began := time.Now()
				c.opts.Dialer, c.opts.Logger, c.opts.ReconnectPause = p.Dial, redisconn.NoopLogger{}, -1
				_, err := redisconn.Connect(background, "pipe:1", c.opts)
				requireNotSent(t, err, redisconn.ErrConnSetup)
				require.Equal(t, c.want, time.Since(began))
				synctest.Wait()
			})
		})
	}
}
