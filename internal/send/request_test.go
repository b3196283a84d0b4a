package send_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/redis"
)

func encoded(t *testing.T, cmd string, args ...any) *send.Request {
	t.Helper()
	buf, err := redis.AppendRequest(nil, redis.Req(cmd, args...))
	require.NoError(t, err)
	return &send.Request{Cmd: cmd, Buf: buf}
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
		assert.Equal(t, 1+send.SubcommandWords(c.cmd)+len(c.args), r.Words(), c.cmd)
	}
	many := encoded(t, "MGET", make([]any, 1000)...)
	assert.Equal(t, 1001, many.Words())
	assert.Empty(t, many.Arg(1000))
}

func TestRequestAllocates(t *testing.T) {
	args := []any{"key", "value"}
	r := encoded(t, "SET", args...)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		_, _ = r.Words(), r.Arg(2)
		r.Encoded("SET", args, r.Buf, true)
	}))
	args = []any{"key", 1.5}
	r = encoded(t, "BLPOP", args...)
	assert.Zero(t, testing.AllocsPerRun(100, func() { r.Encoded("BLPOP", args, r.Buf, true) }))
}

func TestEncoded(t *testing.T) {
	foo := int(slot.Of("foo"))
	for _, c := range []struct {
		cmd  string
		args []any
		want int
	}{
		{"GET", []any{"foo"}, foo},
		{"get", []any{[]byte("foo")}, foo},
		{"GET foo", nil, foo},
		{"GET", []any{12}, int(slot.Of("12"))},
		{"GET", nil, send.NoSlot},
		{"PING", nil, send.NoSlot},
		{"RANDOMKEY", nil, send.NoSlot},
		{" GET", []any{"foo"}, send.NoSlot},
		{"MGET", []any{"foo", "{foo}1", []byte("{foo}2")}, foo},
		{"MGET", []any{"foo", "bar"}, send.ManySlots},
		{"MSET", []any{"foo", "bar", "{foo}", "zap"}, foo},
		{"MSET", []any{"foo", 1, "bar", 2}, send.ManySlots},
		{"EVAL", []any{"return 1", 0, "foo"}, send.NoSlot},
		{"EVAL", []any{"return 1", 2, "foo", "{foo}", "bar"}, foo},
		{"EVAL", []any{"return 1", 2, "foo", "bar"}, send.ManySlots},
		{"RENAME", []any{"foo", "bar"}, send.ManySlots},
		{"BITOP", []any{"AND", "foo", "{foo}1", "bar"}, send.ManySlots},
		{"BITOP", []any{"AND", "foo", "{foo}1", "{foo}2"}, foo},
		{"OBJECT ENCODING", []any{"foo"}, foo},
		{"OBJECT", []any{"ENCODING", "foo"}, foo},
		{"XREAD", []any{"STREAMS", "foo", "{foo}", "0", "0"}, foo},
		{"XREAD", []any{"BLOCK", time.Second, "STREAMS", "foo", "0"}, foo},
		{"BLPOP", []any{"foo", 7}, foo},
		{"ZUNIONSTORE", []any{"{foo}1", 2, "{foo}2", "foo"}, foo},
	} {
		r := encoded(t, c.cmd, c.args...)
		call := command.Of(c.cmd, c.args)
		r.Encoded(c.cmd, c.args, r.Buf, true)
		assert.Equal(t, c.want, r.Slot, "%s %v", c.cmd, c.args)
		assert.Equal(t, call.Is(command.ReplicaSafe), r.ReplicaSafe)
		assert.Equal(t, call.Verdict(false), r.Shared)
		assert.Equal(t, call.BlockTime(), r.Blocks)
		r.Encoded(c.cmd, c.args, r.Buf, false)
		assert.Equal(t, send.NoSlot, r.Slot, "%s %v", c.cmd, c.args)
	}
}

// If each key were searched from the start of the request, this test would take minutes.
func TestEncodedWalksOnce(t *testing.T) {
	args := make([]any, 1<<18)
	for i := range args {
		args[i] = "{foo}" + strconv.Itoa(i)
	}
	r := encoded(t, "MGET", args...)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Encoded("MGET", args, r.Buf, true)
	}()
	select {
	case <-done:
		assert.Equal(t, int(slot.Of("foo")), r.Slot)
	case <-time.After(20 * time.Second):
		t.Fatal("the walk takes more than one look at each word")
	}
}

func FuzzEncoded(f *testing.F) {
	f.Add("EVAL", "return 1", "2", "foo")
	f.Add("GET foo", "", "", "")
	f.Add("XREAD", "STREAMS", "foo", "0")
	f.Add("MIGRATE", "", "KEYS", "{")
	f.Add("GEORADIUS", "foo", "STORE", "foo")
	f.Fuzz(func(t *testing.T, cmd, a, b, c string) {
		args := []any{a, []byte(b), c}
		r := encoded(t, cmd, args...)
		r.Encoded(cmd, args, r.Buf, true)
		want := send.NoSlot
		for i, key := range redis.Req(cmd, args...).Keys() {
			s := int(slot.Of(key))
			if i > 0 && s != want {
				want = send.ManySlots
				break
			}
			want = s
		}
		require.Equal(t, want, r.Slot)
	})
}

type queue map[uint64]bool

func (q queue) Withdraw(seq uint64) bool { return q[seq] }

func TestTicket(t *testing.T) {
	assert.False(t, send.Ticket{}.Withdraw(), "never queued")
	q := queue{7: true}
	assert.True(t, send.Ticket{Queue: q, Seq: 7}.Withdraw())
	assert.False(t, send.Ticket{Queue: q, Seq: 8}.Withdraw())
}
