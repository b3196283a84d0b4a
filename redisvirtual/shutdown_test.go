package redisvirtual

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisvirtual/internal/proto"
	"github.com/joomcode/redispipe/testbed"
)

// Shutdown waits for the replies that virtual connections expect, including those on separate sockets. These
// accept no further requests.
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
	require.Eventually(t, func() bool { return refuses(t, conn) }, time.Minute, time.Millisecond)
	_, err := idle.Write([]byte(words("GET", "a")))
	require.Error(t, err)
	require.Empty(t, ended)
	require.NoError(t, s.Resume())
	shared.hear(":1\r\n")
	own.hear(":1\r\n")
	require.NoError(t, <-ended)
}

// Shutdown waits until all replies on separate sockets have arrived completely.
func TestShutdownCutsNoReply(t *testing.T) {
	t.Parallel()
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{})
	value := strings.Repeat("v", 8<<20)
	long, several := over(t, conn), over(t, conn)
	for _, v := range []*client{long, several} {
		v.say(words("SELECT", "1") + words("SET", "a", value))
		v.hear(proto.OK + proto.OK)
	}
	long.say(words("GET", "a"))
	long.hear("$8388608\r\n" + value[:1])
	several.say(words("STRLEN", "a") + words("BLPOP", "list", "0") + words("STRLEN", "a"))
	several.hear(":8388608\r\n")
	ended := make(chan error, 1)
	go func() { ended <- conn.Shutdown(context.Background()) }()
	require.Eventually(t, func() bool { return refuses(t, conn) }, time.Minute, time.Millisecond)
	rest := make([]byte, len(value)-1)
	_, err := io.ReadFull(long.r, rest)
	require.NoError(t, err)
	require.True(t, string(rest) == value[1:])
	long.hear("\r\n")
	require.Empty(t, ended)
	require.Equal(t, int64(1), s.Do("EVAL", "redis.call('SELECT', 1); return redis.call('RPUSH', 'list', 'el')", 0))
	several.hear("*2\r\n$4\r\nlist\r\n$2\r\nel\r\n:8388608\r\n")
	require.NoError(t, <-ended)
}

// refuses reports whether a connection accepts no more requests.
func refuses(t *testing.T, conn *redisconn.Connection) bool {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	return redis.AsErrorx(redis.SyncCtx{S: conn}.Do(ctx, "PING")).IsOfType(redis.ErrContextClosed)
}
