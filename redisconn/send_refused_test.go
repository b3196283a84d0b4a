package redisconn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

func TestForbiddenCommands(t *testing.T) {
	s := chaos.NewScripted(t, chaos.ScriptedOpts{})
	shared := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, DedicatedConns: -1})
	single := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, ScriptMode: true})
	for _, c := range []struct {
		cmd            string
		args           []any
		shared, single bool
	}{
		{cmd: "GET", shared: true, single: true},
		{cmd: "XREAD", args: []any{"STREAMS", "a", 0}, shared: true, single: true},
		{cmd: "XREAD", args: []any{"BLOCK", 0, "STREAMS", "a", 0}, single: true},
		{cmd: "xreadgroup", args: []any{"GROUP", "g", "c", "block", 0, "STREAMS", "a", ">"}, single: true},
		{cmd: "BLPOP", single: true}, {cmd: "brpop", single: true}, {cmd: "BRPOPLPUSH", single: true},
		{cmd: "BLMOVE", single: true}, {cmd: "BLMPOP", single: true}, {cmd: "BZPOPMIN", single: true},
		{cmd: "BZPOPMAX", single: true}, {cmd: "BZMPOP", single: true}, {cmd: "WAIT", single: true},
		{cmd: "WAITAOF", single: true}, {cmd: "SAVE", single: true},
		{cmd: "WATCH", single: true}, {cmd: "MULTI", single: true}, {cmd: "EXEC", single: true}, {cmd: "discard", single: true},
		{cmd: "SELECT", single: true}, {cmd: "AUTH", single: true}, {cmd: "READONLY", single: true},
		{cmd: "READWRITE", single: true}, {cmd: "ASKING", single: true}, {cmd: "CLIENT NO-EVICT", single: true},
		{cmd: "CLIENT", args: []any{"no-evict", "on"}, single: true},
		{cmd: "SUBSCRIBE"}, {cmd: "PSUBSCRIBE"}, {cmd: "SSUBSCRIBE"}, {cmd: "MONITOR"}, {cmd: "SYNC"}, {cmd: "psync"},
		{cmd: "RESET"}, {cmd: "QUIT"}, {cmd: "HELLO"}, {cmd: "CLIENT REPLY"}, {cmd: "client", args: []any{[]byte("reply"), "SKIP"}},
		{cmd: "CLIENT TRACKING"},
	} {
		for conn, allowed := range map[*redisconn.Connection]bool{shared: c.shared, single: c.single} {
			many := newOutcomes(1)
			conn.SendMany(requests(redis.Req(c.cmd, c.args...)), many, 0)
			for _, res := range []any{
				sendTo(conn, c.cmd, c.args...).Wait(t),
				redis.Sync{S: conn}.Do(c.cmd, c.args...),
				many.Wait(t)[0],
			} {
				if allowed {
					require.NoError(t, redis.AsError(res), c.cmd)
				} else {
					requireNotSent(t, res, redis.ErrCommandForbidden)
				}
			}
		}
	}
}

func TestScriptMode(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, ScriptMode: true, IOTimeout: -1})
	sync := redis.Sync{S: conn}
	other := redis.Sync{S: connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})}
	blocked := sendTo(conn, "BLPOP", "list", 0)
	require.Equal(t, int64(1), other.Do("RPUSH", "list", "x"))
	require.Equal(t, []any{[]byte("list"), []byte("x")}, blocked.Wait(t))
	require.Equal(t, "OK", sync.Do("WATCH", "a"))
	require.Equal(t, "OK", other.Do("SET", "a", 1))
	_, err := sync.SendTransaction(requests(redis.Req("SET", "a", 2)))
	requireType(t, err, redis.ErrExecEmpty)
	require.Equal(t, "OK", sync.Do("SELECT", 1))
}
