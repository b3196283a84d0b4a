package redis

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/values"
)

// argumentTexts has the text that is sent for each argument.
var argumentTexts = []struct {
	arg  any
	text string
}{
	{nil, ""},
	{"", ""},
	{"str", "str"},
	{"two\r\nlines\x00\xff", "two\r\nlines\x00\xff"},
	{[]byte(nil), ""},
	{[]byte{}, ""},
	{[]byte("bytes"), "bytes"},
	{true, "1"},
	{false, "0"},
	{0, "0"},
	{9, "9"},
	{10, "10"},
	{-1, "-1"},
	{-10, "-10"},
	{int8(math.MinInt8), "-128"},
	{int16(math.MinInt16), "-32768"},
	{int32(math.MinInt32), "-2147483648"},
	{int64(math.MinInt64), "-9223372036854775808"},
	{int64(math.MaxInt64), "9223372036854775807"},
	{uint(7), "7"},
	{uint8(math.MaxUint8), "255"},
	{uint16(math.MaxUint16), "65535"},
	{uint32(math.MaxUint32), "4294967295"},
	{uint64(math.MaxUint64), "18446744073709551615"},
	{uintptr(12), "12"},
	{float32(0.1), "0.1"},
	{float32(1 << 24), "16777216"},
	{float32(123456789), "123456790"},
	{float32(-123456789), "-123456790"},
	{float32(math.MaxFloat32), "340282350000000000000000000000000000000"},
	{0.1, "0.1"},
	{-2.5, "-2.5"},
	{3.0, "3"},
	{math.Copysign(0, -1), "-0"},
	{float64(1<<53 - 1), "9007199254740991"},
	{float64(1 << 53), "9007199254740992"},
	{1e21, "1000000000000000000000"},
	{5e-324, "0." + strings.Repeat("0", 323) + "5"},
	{math.Inf(1), "+Inf"},
	{math.Inf(-1), "-Inf"},
	{math.NaN(), "NaN"},
}

type namedString string

// notArguments are values whose types can't be sent.
var notArguments = []any{
	namedString("x"), 1i, struct{}{}, []string{"a"}, []any{"a"}, map[string]string{}, new(int),
	errorx.InternalError.New("x"), func() {}, make(chan int), [3]byte{1, 2, 3},
}

func TestAppendRequestArguments(t *testing.T) {
	for _, c := range argumentTexts {
		want := "*2\r\n$3\r\nSET\r\n$" + strconv.Itoa(len(c.text)) + "\r\n" + c.text + "\r\n"
		assert.Equal(t, want, encode(t, "SET", c.arg), "%T %v", c.arg, c.arg)
		text, ok := ArgToString(c.arg)
		assert.True(t, ok)
		assert.Equal(t, c.text, text, "%T", c.arg)
	}
}

func TestAppendRequestCommand(t *testing.T) {
	for _, c := range []struct {
		cmd  string
		args []any
		want string
	}{
		{"PING", nil, "*1\r\n$4\r\nPING\r\n"},
		{"ping", []any{}, "*1\r\n$4\r\nping\r\n"},
		{"CLUSTER SLOTS", nil, "*2\r\n$7\r\nCLUSTER\r\n$5\r\nSLOTS\r\n"},
		{"CONFIG GET", []any{"save"}, "*3\r\n$6\r\nCONFIG\r\n$3\r\nGET\r\n$4\r\nsave\r\n"},
	} {
		assert.Equal(t, c.want, encode(t, c.cmd, c.args...))
	}
	many := make([]any, 100)
	assert.True(t, strings.HasPrefix(encode(t, "MGET", many...), "*101\r\n"))
	assert.True(t, strings.HasPrefix(encode(t, "SET", strings.Repeat("x", 12345)), "*2\r\n$3\r\nSET\r\n$12345\r\n"))
}

func TestAppendRequestAppends(t *testing.T) {
	room := make([]byte, 4, 64)
	copy(room, "HEAD")
	buf, err := AppendRequest(room, Req("PING"))
	require.NoError(t, err)
	assert.Equal(t, "HEAD*1\r\n$4\r\nPING\r\n", string(buf))
	assert.Same(t, &room[0], &buf[0], "the buffer has room")
}

func TestAppendRequestBadArgument(t *testing.T) {
	for _, bad := range notArguments {
		for pos := range 3 {
			args := []any{"canary", []byte("canary"), 12345678}
			args[pos] = bad
			req := Request{Cmd: "SET", Args: args}
			buf, err := AppendRequest([]byte("HEAD"), req)
			assert.Equal(t, "HEAD", string(buf))
			assertType(t, ErrArgumentType, err)
			typed := AsErrorx(err)
			assert.True(t, typed.HasTrait(ErrTraitNotSent))
			at, _ := typed.Property(EKArgPos)
			assert.Equal(t, pos, at)
			failed, _ := typed.Property(EKRequest)
			assert.Equal(t, "SET", failed.(Request).Cmd)
			_, has := typed.Property(EKVal)
			assert.True(t, has)
			assertNoSecret(t, err)
		}
		_, ok := ArgToString(bad)
		assert.False(t, ok, "%T", bad)
	}
}

func TestAppendRequestAllocates(t *testing.T) {
	buf := make([]byte, 0, 1024)
	req := Req("SET", "key", []byte("value"), 1, 2.5, true, nil, uint64(7))
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if _, err := AppendRequest(buf, req); err != nil {
			panic(err)
		}
	}))
}

// FuzzAppendRequest checks that a server would parse an encoded request as it was meant, that it
// agrees with ArgToString, and that a connection can decode it.
func FuzzAppendRequest(f *testing.F) {
	f.Add("SET", "key", []byte("value"), int64(-1), uint64(1), 0.5, float32(0.1), true)
	f.Add("CLUSTER SLOTS", "", []byte("\r\n$1\r\n"), int64(math.MinInt64), uint64(math.MaxUint64), 1e300, float32(16777217), false)
	f.Add("", "\x00", []byte{0xff}, int64(10), uint64(9), math.Copysign(0, -1), float32(123456789), false)
	f.Fuzz(func(t *testing.T, cmd, s string, b []byte, i int64, u uint64, f64 float64, f32 float32, flag bool) {
		args := []any{nil, s, b, i, int(i), int32(i), int16(i), int8(i),
			u, uint(u), uint32(u), uint16(u), uint8(u), uintptr(u), f64, f32, flag}
		buf, err := AppendRequest([]byte("HEAD"), Request{Cmd: cmd, Args: args})
		require.NoError(t, err)
		require.Equal(t, "HEAD", string(buf[:4]))
		want := strings.SplitN(cmd, " ", 2)
		for _, arg := range args {
			text, ok := ArgToString(arg)
			require.True(t, ok)
			want = append(want, text)
		}
		require.Equal(t, want, words(t, buf[4:]))
		if text, _ := ArgToString(f64); !math.IsNaN(f64) {
			back, err := strconv.ParseFloat(text, 64)
			require.NoError(t, err)
			require.Equal(t, f64, back)
		}
		again, err := AppendRequest(nil, Request{Cmd: cmd, Args: values.CloneArgs(args)})
		require.NoError(t, err)
		require.Equal(t, string(buf[4:]), string(again), "clones are sent as the originals")
		broken, err := AppendRequest(buf, Request{Cmd: cmd, Args: append(args, 1i)})
		require.Error(t, err)
		require.Equal(t, len(buf), len(broken))
	})
}

func TestDurationsAreNumbers(t *testing.T) {
	own := &ownSender{encoded: func(r *send.Request, cb Future, n uint64) { cb.Resolve(words(t, r.Buf), n) }}
	foreign := &foreignSender{send: func(r Request, cb Future, n uint64) { cb.Resolve(words(t, []byte(encode(t, r.Cmd, r.Args...))), n) }}
	for _, s := range []Sender{own, foreign} {
		assert.Equal(t, []string{"SET", "k", "v", "EX", "60"}, Sync{s}.Do("SET", "k", "v", "EX", time.Minute))
		assert.Equal(t, []string{"PEXPIRE", "k", "1500"}, Sync{s}.Send(Req("PEXPIRE", "k", 1500*time.Millisecond)))
		for want, res := range map[string]any{
			"SET: Args[3] can't be sent: the time.Duration is not a whole number of seconds":     Sync{s}.Do("SET", "k", "v", "EX", 1500*time.Millisecond),
			"XREAD: Args[1] can't be sent: the time.Duration is not a whole number of millisec":  Sync{s}.Do("XREAD", "BLOCK", time.Microsecond, "STREAMS", "s", "0"),
			"SET: Args[1] can't be sent: the command takes no duration there":                    Sync{s}.Do("SET", "k", time.Minute),
			"RPUSH: Args[1] can't be sent: it is a slice, which redis.Args turns into arguments": Sync{s}.Do("RPUSH", "k", []string{"canary"}),
			"HSET: Args[1] can't be sent: it is a map, which redis.Args":                         Sync{s}.Do("HSET", "k", map[string]string{"a": "canary"}),
			"SET: Args[1] can't be sent: it is a pointer, which redis.Args":                      Sync{s}.Do("SET", "k", new(string)),
			"SET: Args[1] can't be sent: its type is not predeclared; redis.Args":                Sync{s}.Do("SET", "k", Outcome(1)),
			"SET: Args[1] can't be sent: only DoStream sends a redis.Stream":                     Sync{s}.Do("SET", "k", Stream{Size: 1}),
			"SET: Args[1] can't be sent: it is a chan":                                           Sync{s}.Do("SET", "k", make(chan int)),
			"EXPIREAT: Args[1] can't be sent: it is a time.Time, which redis.Args sends as text": Sync{s}.Do("EXPIREAT", "k", time.Unix(1, 0)),
		} {
			assertType(t, ErrArgumentType, res)
			assert.ErrorContains(t, AsError(res), want)
			assertNoSecret(t, AsError(res))
		}
	}
	assert.NoError(t, CheckRequest(Req("EXPIRE", "k", time.Hour), false))
	assertType(t, ErrArgumentType, CheckRequest(Req("EXPIRE", "k", time.Hour+1), false))
	req := Req("SET", "k", "v", "PX", time.Second)
	assert.Equal(t, "*5\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n$2\r\nPX\r\n$4\r\n1000\r\n", encode(t, req.Cmd, req.Args...))
}
