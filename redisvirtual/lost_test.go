package redisvirtual

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// If a request needs a separate socket and gets none, the requests after it do not run on the
// shared socket, where they would use another database or user, or lack WATCH.
func TestNoSocket(t *testing.T) {
	for name, first := range map[string]string{
		"database": words("SELECT", "5"), "user": words("AUTH", "other", "word"), "watch": words("WATCH", "no-socket"),
	} {
		t.Run(name, func(t *testing.T) {
			var refuse atomic.Bool
			conn := connect(t, server.Addr(), redisconn.Opts{Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
				if refuse.Load() {
					return nil, errors.New("no socket")
				}
				return new(net.Dialer).DialContext(ctx, network, addr)
			}})
			db := redis.Sync{S: conn}
			db.Do("DEL", "no-socket")
			refuse.Store(true)
			v := over(t, conn)
			_, _ = v.Write([]byte(first + words("SET", "no-socket", "1") + words("MULTI") + words("INCR", "no-socket") + words("EXEC")))
			_, err := v.r.ReadByte()
			require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(err))
			require.NoError(t, v.Close())
			require.Nil(t, db.Do("GET", "no-socket"))
		})
	}
}
