package redisvirtual

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisvirtual/internal/proto"
	"github.com/joomcode/redispipe/redisvirtual/internal/replies"
	"github.com/joomcode/redispipe/redisvirtual/internal/upstream"
	"github.com/joomcode/redispipe/testbed"
)

// greeted returns a client over a sender, which speaks the protocol.
func greeted(t testing.TB, s redis.Sender, protocol int) *client {
	v := over(t, s)
	if protocol == 3 {
		v.say(words("HELLO", "3"))
		v.frame()
	}
	return v
}

// The client of a tenant sees only the tenant's keys, without the prefix.
func TestPrefix(t *testing.T) {
	for protocol, streams := range map[int]string{
		2: "*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n",
		3: "%1\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n",
	} {
		conn := connect(t, testbed.NewServer(t).Addr(), redisconn.Opts{Protocol: protocol})
		raw := redis.SyncCtx{S: conn}
		require.Equal(t, "OK", raw.Do(t.Context(), "MSET", "k", "of another", "t1:k", "of a third", "t1:[in]:l", "old"))
		v := greeted(t, redis.WithPrefix(redis.WithPrefix(conn, "t1:"), "[in]:"), protocol)
		v.say(words("GET", "k") + words("get", "l") + "set k mine\r\n" + words("MGET", "k", "l") + words("DEL", "l"))
		v.hear(string(proto.AppendNull(nil, protocol)) + "$3\r\nold\r\n" + proto.OK + "*2\r\n$4\r\nmine\r\n$3\r\nold\r\n:1\r\n")
		v.say(words("RPUSH", "l", "a", "b", "c") + words("BLPOP", "none", "l", "0") + words("LMPOP", "1", "l", "LEFT"))
		v.hear(":3\r\n*2\r\n$1\r\nl\r\n$1\r\na\r\n" + "*2\r\n$1\r\nl\r\n*1\r\n$1\r\nb\r\n")
		v.say(words("XADD", "s", "1-1", "f", "v") + words("XREAD", "STREAMS", "s", "0") + words("XREAD", "BLOCK", "1", "STREAMS", "s", "0"))
		v.hear("$3\r\n1-1\r\n" + streams + streams)
		v.say(words("EVAL", "return redis.call('GET', KEYS[1])", "1", "k") + words("KEYS", "k*") + words("SCAN", "0", "MATCH", "l", "COUNT", "100"))
		v.hear("$4\r\nmine\r\n*1\r\n$1\r\nk\r\n*2\r\n$1\r\n0\r\n*1\r\n$1\r\nl\r\n")
		for _, watch := range []string{"", words("WATCH", "k") + words("KEYS", "l")} {
			v.say(watch + words("MULTI"))
			if watch != "" {
				v.hear(proto.OK + "*1\r\n$1\r\nl\r\n")
			}
			v.hear(proto.OK)
			v.say(words("KEYS", "l"))
			v.hear(proto.Queued)
			v.say(words("GET", "k") + words("EXEC"))
			v.hear(proto.Queued + "*2\r\n*1\r\n$1\r\nl\r\n$4\r\nmine\r\n")
		}
		v.say(words("MULTI") + words("GET", "k") + words("BLPOP", "l", "0") + words("EXEC"))
		v.hear(proto.OK + proto.Queued + proto.Queued + "*2\r\n$4\r\nmine\r\n*2\r\n$1\r\nl\r\n$1\r\nc\r\n")

		null := map[int]string{2: "*-1\r\n", 3: "_\r\n"}[protocol]
		v.say(words("BLPOP", "none", "0.01") + words("XREAD", "STREAMS", "none", "0") + words("LMPOP", "1", "none", "LEFT"))
		v.hear(null + null + null)
		v.say(words("MULTI") + words("BLPOP", "none", "0") + words("GET", "none") + words("EXEC"))
		v.hear(proto.OK + proto.Queued + proto.Queued + "*2\r\n" + null + string(proto.AppendNull(nil, protocol)))
		v.say(words("SADD", "set", "e") + words("MULTI") + words("SMEMBERS", "set") + words("KEYS", "none") + words("EXEC"))
		v.hear(":1\r\n" + proto.OK + proto.Queued + proto.Queued + "*2\r\n" + map[int]string{2: "*", 3: "~"}[protocol] + "1\r\n$1\r\ne\r\n*0\r\n")
		v.say(words("XREAD", "COUNT", "1", "STREAMS", "s", "s", "0", "0"))
		v.hear(map[int]string{2: "*", 3: "%"}[protocol] + "2\r\n" + streams[len("*1\r\n"):] + streams[len("*1\r\n"):])
		v.say(words("DEL", "set"))
		v.hear(":1\r\n")
		keys, err := redis.As[[]string](raw.Do(t.Context(), "KEYS", "*"))
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"k", "t1:k", "t1:[in]:k", "t1:[in]:s"}, keys)
	}
}

// A request to which no prefix can be added gets an error, and the connection goes on.
func TestPrefixRefuses(t *testing.T) {
	const unknown, socket, aborted = "-ERR .* WithPrefix .*", "-ERR .* needs a socket of its own.*", "-EXECABORT .*"
	conn := connect(t, server.Addr(), redisconn.Opts{})
	v := over(t, redis.WithPrefix(conn, "t1:"))
	for request, want := range map[string]string{
		"FLUSHALL": unknown, "DBSIZE": unknown, "RANDOMKEY": unknown, "EVAL x 0": unknown, "GET": unknown, "SORT": unknown,
		"MODULE.CMD k": "-ERR .* not in the table.*", "\"GET k\"": "-ERR .* not in the table.*", "POST k": "-ERR .* not in the table.*",
		"SCRIPT OF k": "-ERR .*subcommand of SCRIPT is not in the table.*", "himport of k": "-ERR .*subcommand of HIMPORT is not in the table.*",
		"SUBSCRIBE c": socket, "SSUBSCRIBE c": socket, "MONITOR": socket, "SELECT 3": socket, "CLIENT TRACKING on": socket, "CLIENT REPLY off": socket, "SYNC": socket,
	} {
		v.say(request + "\r\nPING\r\n")
		require.Regexp(t, want, v.frame(), request)
		v.hear("+PONG\r\n")
		v.say("MULTI\r\nSET k v\r\n" + request + "\r\nEXEC\r\nPING\r\n")
		v.hear(proto.OK + proto.Queued)
		require.Regexp(t, "-ERR .*", v.frame(), request)
		require.Regexp(t, aborted, v.frame(), request)
		v.hear("+PONG\r\n")
		v.say("WATCH k\r\n" + request + "\r\nUNWATCH\r\n")
		v.hear(proto.OK)
		require.Regexp(t, "-ERR .*", v.frame(), request)
		v.hear(proto.OK)
	}
	v.say("AUTH other password\r\nGET k\r\n")
	require.Regexp(t, socket, v.frame())
	require.Regexp(t, "-NOAUTH .*", v.frame())

	other := over(t, redis.WithPrefix(connect(t, server.Addr(), redisconn.Opts{Protocol: 3}), "t1:"))
	other.say("GET k\r\n")
	_, err := other.Read(make([]byte, 1))
	require.ErrorContains(t, err, "both must be equal")
	_, err = over(t, redis.WithPrefix(struct{ redis.Sender }{conn}, "t1:")).Read(make([]byte, 1))
	require.ErrorContains(t, err, "is not a connection")
}

// A request that the prefix makes larger than a server accepts gets an error, and is not sent.
func TestPrefixBounds(t *testing.T) {
	c := newConn(&upstream.Servers{Terms: replies.Terms{Protocol: 2, Prefix: "t1:"}})
	get := func(keys, size int) *send.Request {
		word := len("$536870912\r\n\r\n") + size
		buf := make([]byte, len("*2\r\n$3\r\nGET\r\n")+keys*word) // only touched pages take memory
		at := copy(buf, fmt.Sprintf("*%d\r\n$3\r\nGET\r\n", 1+keys))
		for range keys {
			copy(buf[at:], fmt.Sprintf("$%09d\r\n", size))
			copy(buf[at+word-2:], "\r\n")
			at += word
		}
		return &send.Request{Cmd: "GET", Buf: buf}
	}
	const most = proto.WordMost - 2*len("t1:")
	require.Nil(t, c.unknownKeys(get(1, most)))
	require.ErrorContains(t, c.unknownKeys(get(1, most+1)), "larger than a server accepts")
	require.ErrorContains(t, c.unknownKeys(get(2, most)), "larger than a server accepts")

	v := over(t, redis.WithPrefix(connect(t, server.Addr(), redisconn.Opts{}), "t1:"))
	v.say(words("MULTI"))
	v.hear(proto.OK)
	v.Conn.(*conn).tx.added = proto.Most
	v.say(words("GET", "k") + words("EXEC"))
	v.hear("-ERR The transaction is larger than a server accepts\r\n")
	require.Contains(t, v.frame(), "-EXECABORT ")
}

// Hooks see the requests to which a prefix was added.
func TestPrefixWithHook(t *testing.T) {
	hook := &recorder{}
	v := over(t, redis.WithPrefix(redis.WithHook(connect(t, server.Addr(), redisconn.Opts{}), hook), "t1:"))
	v.say(words("GET", "hooked") + words("MULTI") + words("GET", "hooked") + words("EXEC"))
	v.hear("$-1\r\n" + proto.OK + proto.Queued + "*1\r\n$-1\r\n")
	require.Equal(t, map[string]int{"1 GET value": 1, "transaction of 1 GET value": 1}, hook.saw(t))
}

// Over a cluster, requests go to the nodes of the keys with the prefix, and no address is dialed without it.
func prefixOverShards(t *testing.T, s redis.Sender, protocol int) {
	v := greeted(t, redis.WithPrefix(s, "t1:"), protocol)
	var all []string
	for i := range 40 {
		key := string(rune('A' + i))
		all = append(all, key)
		v.say(words("SET", key, "v"))
		v.hear(proto.OK)
	}
	v.say(words("KEYS", "*"))
	require.ElementsMatch(t, all, v.list())
	require.Equal(t, all, scan(t, func() *client { return greeted(t, redis.WithPrefix(s, "t1:"), protocol) }))
	for _, key := range []string{"A", "B", "C"} {
		v.say(words("WATCH", key) + words("MULTI") + words("APPEND", key, "w") + words("GET", key) + words("EXEC"))
		v.hear(proto.OK + proto.OK + proto.Queued + proto.Queued + "*2\r\n:2\r\n$2\r\nvw\r\n")
	}
	raw := greeted(t, s, protocol)
	raw.say(words("KEYS", "*"))
	require.Len(t, slices.DeleteFunc(raw.list(), func(key string) bool { return strings.HasPrefix(key, "t1:") }), 0)
	_, err := Dialer(redis.WithPrefix(s, "t1:"))(t.Context(), "tcp", server.Addr())
	require.ErrorContains(t, err, "nothing would add the prefix")
}

// Over a cluster, the dedicated connection of a transaction leads to the node of the keys with the prefix.
func TestPrefixOfSession(t *testing.T) {
	s := &lending{}
	c := newConn(&upstream.Servers{Terms: replies.Terms{Protocol: 2, Several: true, Prefix: "t1:"}, Sender: s})
	_, err := c.lend([]string{"a", "b"})
	require.NoError(t, err)
	require.Equal(t, []string{"t1:a", "t1:b"}, s.keys)
}

// lending is a cluster that records the keys for which it lends connections.
type lending struct {
	send.Backend[redis.Future]
	keys []string
}

func (s *lending) OpenDedicated(_ context.Context, keys []string, _ error) (send.Dedicated, error) {
	s.keys = keys
	return nil, nil
}

// Whatever a client writes, it neither sees nor changes what belongs to others.
func TestPrefixOfAnything(t *testing.T) {
	raw := redis.SyncCtx{S: connect(t, testbed.NewServer(t).Addr(), redisconn.Opts{})}
	do := func(cmd string, args ...any) any {
		res := raw.Do(t.Context(), cmd, args...)
		require.NoError(t, redis.Err(res))
		return res
	}
	do("MSET", "a", "s3cret", "3", "s3cret", "store", "s3cret")
	do("RPUSH", "l", "s3cret")
	do("SADD", "s", "s3cret")
	do("ZADD", "z", 1, "s3cret")
	do("HSET", "h", "s3cret", "s3cret")
	do("XADD", "x", "1-1", "s3cret", "s3cret")
	others := []any{"a", "3", "store", "l", "s", "z", "h", "x"}
	state := func() (all []any) {
		for _, key := range others {
			all = append(all, do("DUMP", key), do("PTTL", key))
		}
		return all
	}
	before, commands := state(), commandsOf(t, do("COMMAND"))
	pool := append([]any{"*", "x*", "1", "2", "3", "9", "0", "-1", "+1", " 1", "01", "1 ", "1-1", "t1:a", "", "\x00", "#", "BY", "GET", "STORE", "LIMIT",
		"COUNT", "MATCH", "KEYS", "WEIGHTS", "LEFT", "RIGHT", "WITHSCORES", "REPLACE", "return redis.call('GET', KEYS[1])"}, others...)
	random := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		var out []byte
		for range 15 {
			line := []string{commands[random.IntN(len(commands))]}
			for range random.IntN(6) {
				line = append(line, pool[random.IntN(len(pool))].(string))
			}
			out = proto.AppendWords(out, line)
		}
		if random.IntN(2) == 0 {
			out[random.IntN(len(out))] = "019 \r\n$*\x00\"'az"[random.IntN(13)]
		}
		v := over(t, redis.WithPrefix(raw.S, "t1:"))
		v.say(string(out) + strings.Repeat("QUIT\r\n", 100)) // the changed byte may begin a string of up to 99 bytes
		replies, err := io.ReadAll(v)
		require.NoError(t, err, "%q", out)
		require.NotContains(t, string(replies), "s3cret", "%q", out)
	}
	require.Equal(t, before, state())
	keys, err := redis.As[[]any](do("KEYS", "*"))
	require.NoError(t, err)
	own := 0
	for _, key := range keys {
		if name := string(key.([]byte)); strings.HasPrefix(name, "t1:") {
			own++
		} else {
			require.Contains(t, others, name)
		}
	}
	require.Positive(t, own)
}

// commandsOf returns the commands of a server, without those that block, answer at length, or concern the client.
func commandsOf(t *testing.T, reply any) (names []string) {
	for _, command := range reply.([]any) {
		name := string(command.([]any)[0].([]byte))
		flags, err := redis.As[[]string](command.([]any)[2])
		require.NoError(t, err)
		if slices.Contains(flags, "blocking") || slices.Contains([]string{"client", "config", "migrate", "command", "lolwut", "info", "wait", "waitaof", "auth", "quit", "hello"}, name) {
			continue
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
