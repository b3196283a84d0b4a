package command

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAppendDuration(t *testing.T) {
	for _, c := range []struct {
		cmd  string
		args []any
		at   int
		want string // "" if it can't be sent
	}{
		{"SET", []any{"k", "v", "EX", time.Minute}, 3, "60"},
		{"set", []any{"k", "v", []byte("px"), time.Minute}, 3, "60000"},
		{"SET k", []any{"v", "NX", "ex", time.Second}, 3, "1"},
		{"SET", []any{"k", "v", "EX", 1500 * time.Millisecond}, 3, ""},
		{"SET", []any{"k", "v", "PX", 1500 * time.Microsecond}, 3, ""},
		{"SET", []any{"k", "v", "EXAT", time.Minute}, 3, ""},
		{"SET", []any{"k", time.Minute}, 1, ""},
		{"SET", []any{time.Minute}, 0, ""},
		{"SET", []any{"EX", time.Minute}, 1, ""},
		{"SET EX", []any{time.Minute}, 0, ""},
		{"SET", []any{"EX", "v", "EX", time.Minute}, 3, "60"},
		{"GETEX", []any{"px", "px", time.Second}, 2, "1000"},
		{"EXPIRE", []any{"k", time.Hour, "NX"}, 1, "3600"},
		{"EXPIRE", []any{"k", -time.Second}, 1, "-1"},
		{"EXPIRE k", []any{time.Hour}, 0, "3600"},
		{"PEXPIRE", []any{"k", time.Hour}, 1, "3600000"},
		{"EXPIREAT", []any{"k", time.Hour}, 1, ""},
		{"SETEX", []any{"k", time.Hour, "v"}, 1, "3600"},
		{"SETEX", []any{"k", time.Hour, time.Hour}, 2, ""},
		{"PSETEX", []any{"k", time.Second, "v"}, 1, "1000"},
		{"GETEX", []any{"k", "EX", time.Second}, 2, "1"},
		{"BLPOP", []any{"a", "b", 1500 * time.Millisecond}, 2, "1.5"},
		{"BLPOP", []any{"a", time.Duration(0)}, 1, "0"},
		{"BLPOP", []any{"a", time.Nanosecond}, 1, "0.002"},
		{"BLPOP", []any{"a", time.Millisecond}, 1, "0.002"},
		{"BLPOP", []any{"a", 2001 * time.Microsecond}, 1, "0.003"},
		{"BLPOP", []any{"a", time.Duration(math.MaxInt64)}, 1, "9223372036.855"},
		{"BLPOP", []any{"a", -time.Millisecond}, 1, "-0.001"},
		{"BLPOP", []any{time.Second, time.Second}, 0, ""},
		{"BLMPOP", []any{2 * time.Second, 1, "a", "LEFT"}, 0, "2"},
		{"BLMOVE", []any{"a", "b", "LEFT", "LEFT", 2 * time.Second}, 4, "2"},
		{"XREAD", []any{"COUNT", 1, "BLOCK", time.Second, "STREAMS", "s", "$"}, 3, "1000"},
		{"XREADGROUP", []any{"GROUP", "g", "c", "BLOCK", time.Second, "STREAMS", "s", ">"}, 4, "1000"},
		{"XCLAIM", []any{"s", "g", "c", time.Minute, "1-1", "IDLE", time.Second}, 3, "60000"},
		{"XCLAIM", []any{"s", "g", "c", time.Minute, "1-1", "IDLE", time.Second}, 6, "1000"},
		{"XAUTOCLAIM", []any{"s", "g", "c", time.Minute, "0"}, 3, "60000"},
		{"WAIT", []any{1, time.Second}, 1, "1000"},
		{"WAITAOF", []any{1, 0, time.Second}, 2, "1000"},
		{"CLIENT", []any{"PAUSE", time.Second}, 1, "1000"},
		{"CLIENT PAUSE", []any{time.Second}, 0, "1000"},
		{"CLIENT UNBLOCK", []any{1, "TIMEOUT", time.Second}, 2, ""},
		{"HEXPIRE", []any{"h", time.Minute, "FIELDS", 1, "f"}, 1, "60"},
		{"HSETEX", []any{"h", "EX", time.Minute, "FIELDS", 1, "f", "v"}, 2, "60"},
		{"RPUSH", []any{"EX", time.Minute}, 1, ""},
		{"NOSUCH", []any{"k", time.Minute}, 1, ""},
	} {
		call := Of(c.cmd, c.args)
		text, ok := call.AppendDuration(nil, c.at, c.args[c.at].(time.Duration))
		assert.Equal(t, c.want != "", ok, "%s %v", c.cmd, c.args)
		assert.Equal(t, c.want, string(text), "%s %v", c.cmd, c.args)
		assert.Equal(t, ok, call.Sendable(c.at))
	}
}

func TestWithDurations(t *testing.T) {
	args := []any{"k", time.Minute, "EX", time.Minute, "PX", time.Nanosecond}
	assert.Equal(t, []any{"k", time.Minute, "EX", "60", "PX", time.Nanosecond}, WithDurations("SET", args))
	assert.Equal(t, time.Minute, args[3], "they are the caller's")
	none := []any{"k", 1}
	assert.Same(t, &none[0], &WithDurations("SET", none)[0])
	assert.Nil(t, WithDurations("PING", nil))
}

func TestBlockTimeOfADuration(t *testing.T) {
	for _, c := range []Call{
		Of("BLPOP", []any{"k", 1500 * time.Millisecond}), Of("WAIT", []any{1, 1500 * time.Millisecond}),
		Of("XREAD", []any{"BLOCK", 1500 * time.Millisecond, "STREAMS", "s", "$"}),
	} {
		assert.Equal(t, 1500*time.Millisecond, c.BlockTime())
	}
	c := Of("BLPOP", []any{"k", time.Duration(0)})
	assert.Equal(t, Forever, c.BlockTime())
}

func TestBlockTime(t *testing.T) {
	for _, c := range []struct {
		cmd  string
		args []any
		want time.Duration
	}{
		{"GET", []any{"a"}, 0},
		{"NOSUCH", []any{"a", 5}, 0},
		{"BLPOP", []any{"a", "b", 5}, 5 * time.Second},
		{"blpop", []any{"a", "0.1"}, 100 * time.Millisecond},
		{"BLPOP a", []any{[]byte("2")}, 2 * time.Second},
		{"BRPOP", []any{"a", 1.5}, 1500 * time.Millisecond},
		{"BLPOP", []any{"a", 0}, Forever},
		{"BLPOP", []any{"a", "0.0"}, Forever},
		{"BLPOP", []any{"a", 1e300}, Forever},
		{"BLPOP", []any{"a", "soon"}, 0},
		{"BLPOP", []any{"a", "nan"}, 0},
		{"BLPOP", []any{"a", -1}, 0},
		{"BLPOP", nil, 0},
		{"BRPOPLPUSH", []any{"a", "b", 3}, 3 * time.Second},
		{"BLMOVE", []any{"a", "b", "LEFT", "RIGHT", 3}, 3 * time.Second},
		{"BZPOPMIN", []any{"a", 3}, 3 * time.Second},
		{"BZPOPMAX", []any{"a", 3}, 3 * time.Second},
		{"BLMPOP", []any{4, 1, "a", "LEFT"}, 4 * time.Second},
		{"BZMPOP", []any{4, 1, "a", "MIN"}, 4 * time.Second},
		{"WAIT", []any{1, 100}, 100 * time.Millisecond},
		{"WAIT", []any{1, 0}, Forever},
		{"WAITAOF", []any{1, 1, 100}, 100 * time.Millisecond},
		{"XREAD", []any{"STREAMS", "BLOCK", "$"}, 0},
		{"XREAD", []any{"COUNT", 1, "block", 20, "STREAMS", "a", "$"}, 20 * time.Millisecond},
		{"XREAD", []any{"BLOCK", 0, "STREAMS", "a", "$"}, Forever},
		{"XREAD", []any{"BLOCK"}, 0},
		{"XREADGROUP", []any{"GROUP", "BLOCK", "5", "BLOCK", 20, "STREAMS", "a", ">"}, 20 * time.Millisecond},
		{"SAVE", nil, Forever},
	} {
		call := Of(c.cmd, c.args)
		require.Equal(t, c.want, call.BlockTime(), "%s %v", c.cmd, c.args)
	}
}
