package redis

import (
	"strings"
	"testing"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/command"
)

func TestRequestKey(t *testing.T) {
	for _, c := range []struct {
		req  Request
		key  string
		ok   bool
		keys []string
	}{
		{Req("GET", "k"), "k", true, []string{"k"}},
		{Req("get", []byte("k")), "k", true, []string{"k"}},
		{Req("GET k"), "k", true, []string{"k"}},
		{Req("GET", 10), "10", true, []string{"10"}},
		{Req("GET", nil), "", true, []string{""}},
		{Req("GET", struct{}{}), "", false, []string{}},
		{Req("GET"), "", false, nil},
		{Req("RANDOMKEY"), "RANDOMKEY", false, nil},
		{Req("randomkey"), "RANDOMKEY", false, nil},
		{Req("PING", "x"), "", false, nil},
		{Req(""), "", false, nil},
		{Req("MSET", "a", 1, "b", 2), "a", true, []string{"a", "b"}},
		{Req("EVAL", "s", 2, "a", "b", "c"), "a", true, []string{"a", "b"}},
		{Req("EVAL", "s", "-1", "a"), "", false, nil},
		{Req("XINFO STREAM", "k"), "k", true, []string{"k"}},
		{Req("xinfo", "stream", "k"), "k", true, []string{"k"}},
		{Req("XREADGROUP", "GROUP", "g", "c", "STREAMS", "a", "b", ">", ">"), "a", true, []string{"a", "b"}},
		{Req("XREAD BLOCK", 1000, "STREAMS", "a", "b", "$", "$"), "a", true, []string{"a", "b"}},
		{Req("XREAD", "COUNT", 1, "BLOCK", 0, "STREAMS", "a", "$"), "a", true, []string{"a"}},
		{Req("XREADGROUP GROUP", "g", "c", "BLOCK", 1000, "NOACK", "STREAMS", "a", ">"), "a", true, []string{"a"}},
		{Req("JSON.GET", "k", "$"), "k", true, []string{"k"}},
	} {
		key, ok := c.req.Key()
		assert.Equal(t, c.key, key, "%v", c.req)
		assert.Equal(t, c.ok, ok, "%v", c.req)
		assert.Equal(t, c.keys, c.req.Keys(), "%v", c.req)
	}
}

func TestRequestKeyAllocatesNothing(t *testing.T) {
	req := Req("EVALSHA", "sha", []byte("2"), "a", "b")
	assert.Zero(t, testing.AllocsPerRun(100, func() { req.Key() }))
}

func TestBlocking(t *testing.T) {
	for _, cmd := range strings.Fields("BLPOP BRPOP BRPOPLPUSH BLMOVE BLMPOP BZPOPMIN BZPOPMAX BZMPOP " +
		"WAIT WAITAOF SAVE XREAD XREADGROUP blpop xRead") {
		assert.True(t, Blocking(cmd), cmd)
	}
	for _, cmd := range []string{"GET", "LPOP", "BGSAVE", "WATCH", "JSON.GET", "", " BLPOP"} {
		assert.False(t, Blocking(cmd), cmd)
	}
}

// session and protocol are commands for which Dangerous returns true.
var (
	session = []string{"WATCH", "UNWATCH", "MULTI", "EXEC", "DISCARD", "SELECT", "AUTH", "READONLY", "READWRITE",
		"ASKING", "CLIENT NO-EVICT", "CLIENT NO-TOUCH", "CLIENT CACHING", "CLIENT CAPA", "client import-source"}
	protocol = []string{"SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE",
		"MONITOR", "SYNC", "PSYNC", "REPLCONF", "RESET", "QUIT", "HELLO", "SCRIPT DEBUG",
		"CLIENT REPLY", "CLIENT TRACKING", "client reply"}
)

func TestDangerous(t *testing.T) {
	for _, cmd := range append(session, protocol...) {
		assert.True(t, Dangerous(cmd), cmd)
		assert.True(t, Dangerous(strings.ToLower(cmd)), cmd)
	}
	for _, cmd := range []string{"GET", "BLPOP", "CLIENT", "CLIENT KILL", "CLIENT PAUSE", "CLIENT SETNAME",
		"CLIENT SETINFO", "CLIENT LIST", "SHUTDOWN", "DEBUG", "PUBLISH", "SPUBLISH", "JSON.GET", ""} {
		assert.False(t, Dangerous(cmd), cmd)
	}
}

func TestReplicaSafe(t *testing.T) {
	for _, cmd := range []string{"GET", "get", "MGET", "EXISTS", "HGETALL", "SORT_RO", "GEORADIUS_RO", "XRANGE", "XREAD",
		"PFCOUNT", "EVAL_RO", "FCALL_RO", "XINFO", "XINFO STREAM", "OBJECT", "object encoding", "MEMORY USAGE",
		"DIGEST", "JSON.GET", "TS.RANGE"} {
		assert.True(t, ReplicaSafe(cmd), cmd)
	}
	for _, cmd := range []string{"SET", "GETEX", "GETDEL", "SORT", "GEORADIUS", "EVAL", "XREADGROUP", "BITFIELD",
		"SCAN", "HSCAN", "SSCAN", "ZSCAN", "TOUCH", "PING", "KEYS", "DBSIZE", "RANDOMKEY", "INFO", "MEMORY", "MEMORY PURGE",
		"CLIENT", "GRAPH.RO_QUERY", "", "GET\r\n"} {
		assert.False(t, ReplicaSafe(cmd), cmd)
	}
}

func TestForbiddenCommand(t *testing.T) {
	for _, cmd := range append(session, "BLPOP", "WAIT", "SAVE", "XREAD", "xreadgroup") {
		assert.True(t, errorx.IsOfType(ForbiddenCommand(cmd, false), ErrCommandForbidden), cmd)
		assert.NoError(t, ForbiddenCommand(cmd, true), cmd)
	}
	for _, cmd := range protocol {
		assert.True(t, errorx.IsOfType(ForbiddenCommand(cmd, false), ErrCommandForbidden), cmd)
		assert.True(t, errorx.IsOfType(ForbiddenCommand(cmd, true), ErrCommandForbidden), cmd)
	}
	for _, cmd := range []string{"GET", "CLIENT", "CLUSTER SLOTS", "JSON.GET"} {
		assert.NoError(t, ForbiddenCommand(cmd, false), cmd)
	}
	assert.True(t, errorx.IsOfType(ForbiddenCommand("", true), ErrCommandFormat))
}

func TestCheckRequest(t *testing.T) {
	for _, req := range []Request{
		Req("GET", "k"), Req("XREAD", "COUNT", 1, "STREAMS", "k", "0"), Req("CLIENT", "KILL", "x"),
		Req("ECHO", nil), Req("JSON.SET", []byte("k"), 1, int8(1), uint64(1), uintptr(1), float32(1), 1.5, true),
	} {
		assert.NoError(t, CheckRequest(req, false), "%v", req)
	}
	for _, req := range []Request{
		Req("XREAD", "BLOCK", 0, "STREAMS", "k", "$"), Req("blpop", "k", 0), Req("CLIENT", "no-touch", "ON"),
	} {
		assert.True(t, errorx.IsOfType(CheckRequest(req, false), ErrCommandForbidden), "%v", req)
		assert.NoError(t, CheckRequest(req, true), "%v", req)
	}
	for _, cmd := range []string{"", " ", "GET ", " GET", "GET  k", "SET k v", "GET\r\nk", "GET\x00"} {
		err := CheckRequest(Req(cmd), true)
		assert.True(t, errorx.IsOfType(err, ErrCommandFormat), "%q", cmd)
		assert.True(t, errorx.HasTrait(err, ErrTraitNotSent), "%q", cmd)
	}
}

func TestCheckRequestNamesTheArgument(t *testing.T) {
	for _, bad := range []any{struct{}{}, []int{1}, map[string]string{}, new(int), complex(1, 1), []string{"a"}} {
		req := Req("SET", "k", bad)
		err := AsErrorx(CheckRequest(req, false))
		require.NotNil(t, err)
		assert.True(t, err.IsOfType(ErrArgumentType))
		pos, _ := err.Property(EKArgPos)
		assert.Equal(t, 1, pos)
		got, _ := err.Property(EKRequest)
		assert.Equal(t, req, got)
	}
}

// TestEncodableIsWhatIsEncoded checks that two lists of types agree: those that command accepts and
// those that are encoded.
func TestEncodableIsWhatIsEncoded(t *testing.T) {
	type named string
	for _, arg := range []any{
		nil, "", []byte{}, true, 1, int8(1), int16(1), int32(1), int64(1), uint(1), uint8(1), uint16(1), uint32(1),
		uint64(1), uintptr(1), float32(1), 1.0, named("x"), []string{}, struct{}{}, complex64(1), new(string), [1]byte{},
	} {
		_, err := AppendRequest(nil, Req("X", arg))
		assert.Equal(t, err == nil, command.IsArg(arg), "%T", arg)
	}
}

func TestRefusalsSayWhatToUseAndNoSecret(t *testing.T) {
	for _, c := range []struct {
		req  Request
		hint string
	}{
		{Req("SELECT", "hunter2"), "Opts.DB"},
		{Req("AUTH hunter2"), "Opts.Password"},
		{Req("hello", 3, "AUTH", "u", "hunter2"), "Opts.Protocol"},
		{Req("READONLY"), "Opts.ReadOnly"},
		{Req("MULTI"), "SendTransaction"},
		{Req("WATCH", "hunter2"), "redis.Watch"},
		{Req("BLPOP", "hunter2", 0), "by itself"},
		{Req("SUBSCRIBE", "hunter2"), "redispubsub"},
		{Req("MONITOR"), "separate socket"},
		{Req("QUIT"), "Close"},
		{Req("CLIENT", "REPLY", "hunter2"), "nil Future"},
		{Req("AUTH  hunter2"), "printable"},
		{Req("GET hunter2", struct{ s string }{"hunter2"}), "Args[0]"},
	} {
		err := CheckRequest(c.req, false)
		require.Error(t, err)
		assert.Contains(t, err.Error(), c.hint)
		assert.NotContains(t, err.Error(), "hunter2")
	}
}

func TestRefusalsNameWhatToUse(t *testing.T) {
	for cmd, want := range map[string]string{
		"SUBSCRIBE": "redispubsub.New", "psubscribe": "redispubsub.New", "SUNSUBSCRIBE": "redispubsub.New",
		"SELECT": "Opts.DB", "WATCH": "redis.Watch", "MONITOR": "outside of this library", "CLIENT TRACKING": "rediscache",
	} {
		assert.ErrorContains(t, ForbiddenCommand(cmd, false), want)
	}
	assert.ErrorContains(t, ForbiddenCommand("SUBSCRIBE", true), "redispubsub.New")
}
