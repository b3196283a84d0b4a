package command

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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
