package virtualtime

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// T7: reading a large value over a slow link succeeds as long as 64 KiB arrive within each
// IOTimeout.
func TestALargeValueOverASlowLink(t *testing.T) {
	const size, slice, timeout = 2 << 20, 16 << 10, time.Second
	for name, tt := range map[string]struct {
		interval time.Duration
		lives    bool
	}{
		"much at a time":           {12 * time.Millisecond, true},
		"80 KiB in each IOTimeout": {timeout / 5, true},
		"48 KiB":                   {timeout / 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			Run(t, func(t *testing.T) {
				large := chaos.ScriptedSlow(chaos.ScriptedBulk(string(make([]byte, size))), slice, tt.interval)
				l := newPipes("10.0.0.1:6379")
				chaos.NewScripted(t, chaos.ScriptedOpts{Listener: l, Handler: large})
				conn, err := redisconn.Connect(t.Context(), l.addr, redisconn.Opts{
					IOTimeout: timeout, Dialer: l.dial, Logger: redisconn.NoopLogger{},
				})
				require.NoError(t, err)
				defer conn.Close()
				began := time.Now()
				value, err := redis.As[[]byte](redis.Sync{S: conn}.Do("GET", "large"))
				if !tt.lives {
					require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrIO), "%v", err)
					return
				}
				require.NoError(t, err)
				require.Len(t, value, size)
				require.Greater(t, time.Since(began), timeout)
			})
		})
	}
}
