package redisvirtual

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisvirtual/internal/proto"
	"github.com/joomcode/redispipe/testbed"
)

// Shutdown waits for the replies that virtual connections expect, also on separate sockets, which
// accept no more requests.
func TestShutdown(t *testing.T) {
	t.Parallel()
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{})
	shared, own, idle := over(t, conn), over(t, conn), over(t, conn)
	for _, v := range []*client{own, idle} {
		v.say(words("SELECT", "1") + words("GET", "a"))
		v.hear(proto.OK + "$-1\r\n")
	}
	require.NoError(t, s.Pause())
	shared.say(words("INCR", "a"))
	own.say(words("INCR", "a"))
	ended := make(chan error, 1)
	go func() { ended <- conn.Shutdown(context.Background()) }()
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		err := redis.AsErrorx(redis.SyncCtx{S: conn}.Do(ctx, "PING"))
		return err.IsOfType(redis.ErrContextClosed)
	}, time.Minute, time.Millisecond)
	_, err := idle.Write([]byte(words("GET", "a")))
	require.Error(t, err)
	require.Empty(t, ended)
	require.NoError(t, s.Resume())
	shared.hear(":1\r\n")
	own.hear(":1\r\n")
	require.NoError(t, <-ended)
}
