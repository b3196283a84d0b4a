package wire_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

func encoded(t *testing.T, cmd string, args ...any) *wire.Request {
	t.Helper()
	buf, err := redis.AppendRequest(nil, redis.Req(cmd, args...))
	require.NoError(t, err)
	return &wire.Request{Cmd: cmd, Buf: buf}
}

func TestRequestWords(t *testing.T) {
	long := strings.Repeat("x", 12345)
	for _, c := range []struct {
		cmd  string
		args []any
		want []string
	}{
		{"PING", nil, []string{"PING"}},
		{"SET", []any{"k", []byte("v")}, []string{"SET", "k", "v"}},
		{"CLUSTER KEYSLOT", []any{""}, []string{"CLUSTER", "KEYSLOT", ""}},
		{"SET", []any{"\r\n$3\r\n", long, -12}, []string{"SET", "\r\n$3\r\n", long, "-12"}},
		{"A ", nil, []string{"A", ""}},
		{"", nil, []string{""}},
	} {
		r := encoded(t, c.cmd, c.args...)
		require.Equal(t, len(c.want), r.Words(), c.cmd)
		for i, want := range c.want {
			assert.Equal(t, want, string(r.Arg(i)), "%s, %d", c.cmd, i)
		}
		assert.Equal(t, 1+wire.SubcommandWords(c.cmd)+len(c.args), r.Words(), c.cmd)
	}
	many := encoded(t, "MGET", make([]any, 1000)...)
	assert.Equal(t, 1001, many.Words())
	assert.Empty(t, many.Arg(1000))
}

func TestRequestAllocates(t *testing.T) {
	r := encoded(t, "SET", "key", "value")
	assert.Zero(t, testing.AllocsPerRun(100, func() { _, _ = r.Words(), r.Arg(2) }))
}

type queue map[uint64]bool

func (q queue) Withdraw(seq uint64) bool { return q[seq] }

func TestTicket(t *testing.T) {
	assert.False(t, wire.Ticket{}.Withdraw(), "never queued")
	q := queue{7: true}
	assert.True(t, wire.Ticket{Queue: q, Seq: 7}.Withdraw())
	assert.False(t, wire.Ticket{Queue: q, Seq: 8}.Withdraw())
}
