package command

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProcedure(t *testing.T) {
	hash := strings.Repeat("0fA9", 10)
	for _, c := range []struct {
		cmd  string
		args []any
		want string
		ok   bool
	}{
		{"EVALSHA", []any{hash, 1, "key"}, hash, true},
		{"evalsha_ro", []any{[]byte(hash), 0}, hash, true},
		{"FCALL", []any{"my_Func1", 1, "key"}, "my_Func1", true},
		{"FCALL_RO my_func", []any{0}, "my_func", true},
		{"FCALL", []any{"no name", 0}, "", true},
		{"FCALL", []any{[]byte("pass-word"), 0}, "", true},
		{"FCALL", []any{strings.Repeat("x", maxProcedure+1), 0}, "", true},
		{"FCALL", []any{7}, "", true},
		{"FCALL", nil, "", true},
		{"EVAL", []any{"return", 0}, "", false},
		{"GET", []any{"key"}, "", false},
		{"MOD.FCALL", []any{"key"}, "", false},
	} {
		call := Of(c.cmd, c.args)
		name, ok := call.Procedure()
		require.Equal(t, c.want, name, "%s %v", c.cmd, c.args)
		require.Equal(t, c.ok, ok, "%s %v", c.cmd, c.args)
	}
}
