package redispipe_test

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

// This part of the compatibility tests needs no server.

func TestCompatEncoding(t *testing.T) {
	for _, c := range []struct {
		arg  any
		want string
	}{
		{nil, ""}, {"a\r\n", "a\r\n"}, {[]byte(nil), ""}, {true, "1"}, {false, "0"}, {'a', "97"},
		{int8(math.MinInt8), "-128"}, {int16(-1), "-1"}, {int32(math.MinInt32), "-2147483648"}, {-10, "-10"},
		{int64(math.MinInt64), "-9223372036854775808"}, {uint64(math.MaxUint64), "18446744073709551615"},
		{uint8(255), "255"}, {uint16(0), "0"}, {uint32(10), "10"}, {uint(7), "7"},
		{0.1, "0.1"}, {float32(0.1), "0.1"}, {1e21, "1000000000000000000000"}, {float64(1 << 53), "9007199254740992"},
		{math.Copysign(0, -1), "-0"}, {math.NaN(), "NaN"}, {math.Inf(-1), "-Inf"},
	} {
		got, err := redis.AppendRequest([]byte("x"), redis.Req("CONFIG SET", c.arg))
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprintf("x*3\r\n$6\r\nCONFIG\r\n$3\r\nSET\r\n$%d\r\n%s\r\n", len(c.want), c.want), string(got))
		text, ok := redis.ArgToString(c.arg)
		assert.True(t, ok)
		assert.Equal(t, c.want, text)
	}
	for _, bad := range []any{struct{}{}, []int{1}, new(int), time.Second, errors.New("x")} {
		got, err := redis.AppendRequest([]byte("x"), redis.Req("SET", "k", bad))
		e := requireErr(t, err, redis.ErrArgumentType)
		assert.Equal(t, "x", string(got))
		pos, _ := e.Property(redis.EKArgPos)
		assert.Equal(t, 1, pos)
	}
}

func TestCompatDecoding(t *testing.T) {
	read := func(text string) (any, int) { return redis.ReadResponse(bufio.NewReader(strings.NewReader(text))) }
	for text, want := range map[string]any{
		"+OK\r\n": "OK", "+\r\n": "", ":-12\r\n": int64(-12), "$-1\r\n": nil, "*-1\r\n": nil, "$0\r\n\r\n": []byte{}, "*0\r\n": []any{},
		"*2\r\n$1\r\na\r\n*1\r\n:1\r\n": []any{[]byte("a"), []any{int64(1)}}, "_\r\n": nil, "#t\r\n": true, ",1.5\r\n": 1.5,
		"(12\r\n": big.NewInt(12), "=5\r\ntxt:x\r\n": "x", "%1\r\n+a\r\n:1\r\n": map[string]any{"a": int64(1)},
		"~1\r\n:1\r\n": []any{int64(1)}, ">1\r\n+x\r\n:1\r\n": int64(1),
	} {
		res, n := read(text + "+next\r\n")
		assert.Equal(t, want, res, "%q", text)
		assert.Equal(t, len(text), n, "%q", text)
		for i := range text { // whatever the result is
			res, _ := read(text[:i])
			assert.True(t, redis.AsErrorx(res).IsOfType(redis.ErrIO), "%q", text[:i])
		}
	}
	for text, typ := range map[string]*errorx.Type{
		"\r\n": redis.ErrHeaderlineEmpty, "+OK\n": redis.ErrNoFinalRN, "/\r\n": redis.ErrUnknownHeaderType, ":1.1\r\n": redis.ErrIntegerParsing,
		"$\r\n": redis.ErrIntegerParsing, "*a\r\n": redis.ErrIntegerParsing, ":9223372036854775808\r\n": redis.ErrIntegerParsing,
		"$1\r\nabc": redis.ErrNoFinalRN, "$-2\r\n": redis.ErrResponseFormat, "*-2\r\n": redis.ErrResponseFormat, "+a\rb\r\n": redis.ErrResponseFormat,
		"+" + strings.Repeat("A", 1<<20): redis.ErrHeaderlineTooLarge, "-MOVED 1\r\n": redis.ErrResponseFormat, "-ASK foo\r\n": redis.ErrResponseFormat,
		"-ERR x\r\n": redis.ErrResult, "-LOADING\r\n": redis.ErrLoading, "-CLUSTERDOWN x\r\n": redis.ErrClusterDown, "-TRYAGAIN x\r\n": redis.ErrTryAgain,
		"-EXECABORT x\r\n": redis.ErrExecAbort, "-MOVED 7 [::1]:1\r\n": redis.ErrMoved, "-ASK 7 [::1]:1\r\n": redis.ErrAsk,
	} {
		res, _ := read(text)
		e := requireErr(t, res, typ)
		assert.Equal(t, text[0] == '-' && typ != redis.ErrResponseFormat, e.IsOfType(redis.ErrResult), "%q", text)
		if e.HasTrait(redis.ErrTraitClusterMove) && typ != redis.ErrClusterDown && typ != redis.ErrTryAgain {
			addr, _ := e.Property(redis.EKMovedTo)
			slot, _ := e.Property(redis.EKSlot)
			assert.Equal(t, []any{"[::1]:1", int64(7)}, []any{addr, slot})
		}
	}
	for _, text := range []string{"$9223372036854775807\r\n", "*2147483647\r\n", strings.Repeat("*1\r\n", 1<<17), strings.Repeat("|1\r\n", 1<<17)} {
		res, _ := read(text)
		assert.True(t, redis.ErrResponse.IsNamespaceOf(redis.AsErrorx(res).Type()), "%.20q", text)
	}
}

func TestCompatCommands(t *testing.T) {
	for line, want := range map[string]string{
		"GET k": "k", "EVAL s 1 k a": "k", "EVALSHA s 0 a": "", "FCALL_RO f 1 k": "k", "BITOP AND d s": "d", "OBJECT ENCODING k": "k", "OBJECT HELP": "",
		"XGROUP CREATE k g 0": "k", "XINFO STREAM k": "k", "MEMORY USAGE k": "k", "MEMORY STATS": "", "XREAD COUNT 1 STREAMS k 0": "k",
		"XREADGROUP GROUP STREAMS c STREAMS k >": "k", "ZUNIONSTORE d 2 a b": "d", "LMPOP 2 k l LEFT": "k", "BLMPOP 0 1 k LEFT": "k",
		"MIGRATE h 1 k 0 1": "k", "SORT k BY x": "k", "SINTERCARD 1 k": "k", "GEOSEARCHSTORE d s": "d", "PING": "", "GET": "", "KEYS k": "", "SCAN 0": "",
	} {
		words := strings.Fields(line)
		args := make([]any, 0, len(words))
		for _, w := range words[1:] {
			args = append(args, w)
		}
		reqs := []redis.Request{redis.Req(words[0], args...), redis.Req(strings.ToLower(words[0]), args...)}
		if len(words) > 1 {
			reqs = append(reqs, redis.Req(words[0]+" "+words[1], args[1:]...))
		}
		for _, req := range reqs {
			key, ok := req.Key()
			assert.Equal(t, want, key, "%s: %s", req.Cmd, line)
			assert.Equal(t, want != "", ok, "%s: %s", req.Cmd, line)
		}
	}
	key, ok := redis.Req("randomkey").Key()
	assert.Equal(t, []any{"RANDOMKEY", false}, []any{key, ok})
	for _, cmd := range []string{"BLPOP", "brpop", "BLMOVE", "BZMPOP", "Wait", "SAVE", "XREAD"} {
		assert.True(t, redis.Blocking(cmd), cmd)
	}
	for cmd, safe := range map[string]bool{"get": true, "HGETALL": true, "ZRANGE": true, "SET": false, "EVAL": false, "SORT": false, "nosuch": false} {
		assert.Equal(t, safe, redis.ReplicaSafe(cmd), cmd)
		assert.False(t, redis.Blocking(cmd) || redis.Dangerous(cmd), cmd)
		assert.NoError(t, redis.ForbiddenCommand(cmd, false), cmd)
	}
}
