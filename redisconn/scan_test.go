package redisconn_test

import (
	"cmp"
	"iter"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// After a server was restarted, its old cursors are invalid. When it is back at its address,
// iterations begin again.
func TestScanOverRestart(t *testing.T) {
	t.Parallel()
	s := testbed.NewServer(t, testbed.Options{Persist: true})
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	const elements = 1000
	reqs := make([]redis.Request, 0, 4*elements)
	for i := range elements {
		name := "m" + strconv.Itoa(i)
		reqs = append(reqs, redis.Req("SET", name, i), redis.Req("HSET", "hash", name, i),
			redis.Req("SADD", "set", name), redis.Req("ZADD", "sorted", i, name))
	}
	require.NoError(t, redis.FirstError(redis.Sync{S: conn}.SendMany(reqs)))

	ctx, opts := t.Context(), redis.ScanOpts{Match: "m*", Count: 20}
	of := func(key string) redis.ScanOpts {
		opts := opts
		opts.Key = key
		return opts
	}
	walks := map[string]iter.Seq2[string, error]{
		"SCAN": redis.Keys(ctx, conn, opts), "SSCAN": redis.Members[string](ctx, conn, of("set")),
		"HSCAN": func(yield func(string, error) bool) {
			for f, err := range redis.Fields[int](ctx, conn, of("hash")) {
				if !yield(f.Name, err) {
					return
				}
			}
		},
		"ZSCAN": func(yield func(string, error) bool) {
			for m, err := range redis.ScoredMembers[string](ctx, conn, of("sorted")) {
				if !yield(m.Member, err) {
					return
				}
			}
		},
	}
	found := map[string]map[string]bool{}
	next := map[string]func() (string, error, bool){}
	for cmd, walk := range walks {
		found[cmd] = map[string]bool{}
		var stop func()
		next[cmd], stop = iter.Pull2(walk)
		defer stop()
		for range elements / 2 {
			name, err, _ := next[cmd]()
			require.NoError(t, err, cmd)
			found[cmd][name] = true
		}
	}
	require.NoError(t, s.Kill())
	require.NoError(t, s.Restart())
	require.Eventually(t, func() bool { return conn.Ping() == nil }, patience, time.Millisecond)
	for cmd := range walks {
		for name, err, more := next[cmd](); more; name, err, more = next[cmd]() {
			require.NoError(t, err, cmd)
			found[cmd][name] = true
		}
		assert.Equal(t, elements, len(found[cmd]), cmd) // assert.Len would print all elements
	}
}

// If the server does not tell its run_id, an iteration continues over a new socket. If the ID
// becomes known only after the socket was lost, the iteration begins again.
func TestScanOverNewSocket(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		info string
		want []string
	}{
		"the same process": {chaos.ScriptedBulk("run_id:1\r\n"), []string{"0", "5"}},
		"not permitted":    {"-NOPERM\r\n", []string{"0", "5"}},
		"never answered":   {"", []string{"0", "5", "0"}},
	} {
		server := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(at *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
			var reply string
			switch {
			case r.Cmd == "ECHO", r.Cmd == "INFO" && c.info == "" && r.Conn == 1:
				at.Close()
				return nil
			case r.Cmd == "INFO":
				reply = cmp.Or(c.info, chaos.ScriptedBulk("run_id:1\r\n"))
			case r.Conn == 1:
				reply = "*2\r\n" + chaos.ScriptedBulk("5") + "*0\r\n"
			default:
				reply = "*2\r\n" + chaos.ScriptedBulk("0") + "*0\r\n"
			}
			_, err := at.Write([]byte(reply))
			return err
		}})
		conn := connect(t, server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
		it := redis.Sync{S: conn}.Scanner(redis.ScanOpts{})
		_, err := it.Next()
		require.NoError(t, err)
		redis.Sync{S: conn}.Do("ECHO", "the socket is lost")
		require.Eventually(t, func() bool { return conn.Ping() == nil }, patience, time.Millisecond)
		for err == nil {
			_, err = it.Next()
		}
		require.Equal(t, redis.ScanEOF, err, name)
		var cursors []string
		for _, r := range server.Requests() {
			if r.Cmd == "SCAN" {
				cursors = append(cursors, r.Args[0])
			}
		}
		assert.Equal(t, c.want, cursors, name)
	}
}
