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

// What follows a request that has no socket does not run on the shared one: it would in another
// database, as another user, or without WATCH.
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
