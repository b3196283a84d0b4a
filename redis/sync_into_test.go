package redis

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
)

func TestDoIntoScalars(t *testing.T) {
	long := strings.Repeat("x", 100<<10) // longer than any read buffer
	for _, c := range []struct {
		reply string
		want  any
	}{
		{"$3\r\nabc\r\n", []byte("abc")},
		{"$0\r\n\r\n", []byte{}},
		{"$102400\r\n" + long + "\r\n", []byte(long)},
		{"$102400\r\n" + long + "\r\n", long},
		{"+OK\r\n", []byte("OK")},
		{":12\r\n", []byte("12")},
		{"$3\r\nabc\r\n", "abc"},
		{"+PONG\r\n", "PONG"},
		{",1.5\r\n", "1.5"},
		{"=7\r\ntxt:abc\r\n", "abc"},
		{"(123456789012345678901\r\n", "123456789012345678901"},
		{":-7\r\n", int64(-7)},
		{"$2\r\n42\r\n", int64(42)},
		{",1.5\r\n", 1.5},
		{"$3\r\n2.5\r\n", 2.5},
		{":3\r\n", 3.0},
		{":1\r\n", true},
		{":0\r\n", false},
		{"#t\r\n", true},
		{"+OK\r\n", true},
		{">1\r\n+push\r\n$1\r\n5\r\n", int64(5)},
		{"|1\r\n+a\r\n+b\r\n$1\r\n5\r\n", int64(5)},
		{"*2\r\n$1\r\na\r\n:2\r\n", []string{"a", "2"}},
		{"*2\r\n$1\r\na\r\n$-1\r\n", [][]byte{[]byte("a"), nil}},
		{"*2\r\n$1\r\n1\r\n:2\r\n", []int64{1, 2}},
		{"*1\r\n,0.5\r\n", []float64{0.5}},
		{"*2\r\n:1\r\n:0\r\n", []bool{true, false}},
		{"*-1\r\n", []string(nil)},
		{"*2\r\n$1\r\na\r\n$1\r\nb\r\n", map[string]string{"a": "b"}},
		{"%1\r\n$1\r\na\r\n:3\r\n", map[string]int64{"a": 3}},
		{"%1\r\n$1\r\na\r\n$1\r\nb\r\n", map[string][]byte{"a": []byte("b")}},
		{"%1\r\n$1\r\na\r\n,2\r\n", map[string]float64{"a": 2}},
		{"%1\r\n$1\r\na\r\n#t\r\n", map[string]bool{"a": true}},
		{"_\r\n", map[string]bool(nil)},
	} {
		for name, s := range map[string]Sender{
			"own":     answering(c.reply, Limits{}),
			"foreign": answering(c.reply, Limits{}).asForeign(),
		} {
			got, err := into(s, c.want)
			assert.NoError(t, err, "%.40q, %s", c.reply, name)
			assert.Equal(t, c.want, got, "%.40q, %s", c.reply, name)
		}
	}
}

// asForeign returns the sender without its methods for encoded requests.
func (o *ownSender) asForeign() *foreignSender {
	return &foreignSender{send: func(_ Request, cb Future, n uint64) { o.encoded(&send.Request{}, cb, n) }}
}

// into calls DoInto with a new variable of the type of like.
func into(s Sender, like any) (any, error) {
	switch like.(type) {
	case []byte:
		return intoA[[]byte](s)
	case string:
		return intoA[string](s)
	case int64:
		return intoA[int64](s)
	case float64:
		return intoA[float64](s)
	case bool:
		return intoA[bool](s)
	case []string:
		return intoA[[]string](s)
	case [][]byte:
		return intoA[[][]byte](s)
	case []int64:
		return intoA[[]int64](s)
	case []float64:
		return intoA[[]float64](s)
	case []bool:
		return intoA[[]bool](s)
	case map[string]string:
		return intoA[map[string]string](s)
	case map[string][]byte:
		return intoA[map[string][]byte](s)
	case map[string]int64:
		return intoA[map[string]int64](s)
	case map[string]float64:
		return intoA[map[string]float64](s)
	case map[string]bool:
		return intoA[map[string]bool](s)
	}
	panic("no such case")
}

func intoA[T any](s Sender) (any, error) {
	var dst T
	err := Sync{s}.DoInto(&dst, "GET", "k")
	return dst, err
}

func TestDoIntoMismatch(t *testing.T) {
	for _, reply := range []string{
		"$1\r\nx\r\n", "*0\r\n", "*1\r\n:1\r\n", "%0\r\n", "+nope\r\n", ",nan\r\n", "$70\r\n" + strings.Repeat("1", 70) + "\r\n",
	} {
		n := int64(5)
		err := Sync{answering(reply, Limits{})}.DoInto(&n, "GET", "k")
		assertType(t, ErrResponseUnexpected, err, reply)
		assert.EqualValues(t, 5, n, reply)
	}
	for _, reply := range []string{"$-1\r\n", "*-1\r\n", "_\r\n"} {
		s := "as it was"
		err := Sync{answering(reply, Limits{})}.DoInto(&s, "GET", "k")
		assertType(t, ErrResponseNil, err, reply)
		assert.Equal(t, "as it was", s)

		b := []byte("lent")
		assert.NoError(t, Sync{answering(reply, Limits{})}.DoInto(&b, "GET", "k"))
		assert.Nil(t, b)
	}
	err := Sync{answering("-WRONGTYPE no\r\n", Limits{})}.DoInto(new(string), "GET", "k")
	assertType(t, ErrResult, err)
	assertType(t, ErrArgumentType, Sync{answering("+OK\r\n", Limits{})}.DoInto(new(chan int), "GET", "k"))
	assertType(t, ErrArgumentType, Sync{answering("+OK\r\n", Limits{})}.DoInto(nil, "GET", "k"))
	for _, dst := range []any{(*string)(nil), (*[]byte)(nil), (*int64)(nil), (*[]string)(nil), (*map[string]bool)(nil)} {
		assertType(t, ErrArgumentType, Sync{answering("+OK\r\n", Limits{})}.DoInto(dst, "GET", "k"))
	}
	assertType(t, ErrContextIsNil, SyncCtx{answering("+OK\r\n", Limits{})}.DoInto(noContext, new(string), "GET"))
}

// A reply that breaks off is an error, no matter after how many bytes and into which type it is
// read.
func TestDoIntoBrokenReply(t *testing.T) {
	reply := "$100\r\n" + strings.Repeat("x", 100) + "\r\n"
	for n := range len(reply) {
		b := make([]byte, 3, 200)
		err := Sync{answering(reply[:n], Limits{})}.DoInto(&b, "GET", "k")
		assertType(t, ErrIO, err, n)
		assert.Empty(t, b)

		var small []byte
		assertType(t, ErrIO, Sync{answering(reply[:n], Limits{})}.DoInto(&small, "GET", "k"), n)
		assert.Empty(t, small)
		var s string
		assertType(t, ErrIO, Sync{answering(reply[:n], Limits{})}.DoInto(&s, "GET", "k"), n)
	}
	b := make([]byte, 0, 200)
	for _, bad := range []string{
		strings.TrimSuffix(reply, "\r\n") + "\n\r", "$3\r\nabcde", "$3\r\nabc\n\r",
	} {
		assertType(t, ErrNoFinalRN, Sync{answering(bad, Limits{})}.DoInto(&b, "GET", "k"), bad)
		assert.Empty(t, b)
	}
	assertType(t, ErrResponseTooLarge, Sync{answering(reply, Limits{Bulk: 99})}.DoInto(&b, "GET", "k"))
	assertType(t, ErrIntegerParsing, Sync{answering("$1e\r\n", Limits{})}.DoInto(&b, "GET", "k"))
	assertType(t, ErrIntegerParsing, Sync{answering(":1e\r\n", Limits{})}.DoInto(&b, "GET", "k"))
}

func TestDoIntoKeepsTheBuffer(t *testing.T) {
	b := make([]byte, 0, 200)
	first := &b[:1][0]
	for _, reply := range []string{"$3\r\nabc\r\n", "$100\r\n" + strings.Repeat("x", 100) + "\r\n", "-ERR no\r\n"} {
		_ = Sync{answering(reply, Limits{})}.DoInto(&b, "GET", "k")
		require.Equal(t, 200, cap(b), reply)
		assert.Same(t, first, &b[:1][0], reply)
	}
}

// A connection may write into a caller's buffer even after the caller has left, so the caller does
// not get the buffer back.
func TestDoIntoAbandonedBuffer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var late Future
	s := &ownSender{encoded: func(_ *send.Request, cb Future, _ uint64) {
		late = cb
		cancel()
	}}
	b := make([]byte, 0, 64)
	err := SyncCtx{s}.DoInto(ctx, &b, "GET", "k")
	assertType(t, ErrRequestCancelled, err)
	assert.Nil(t, b)
	late.Resolve(nil, 0)
}

// If a request is withdrawn, nobody uses its buffer, so the caller gets the buffer back.
func TestDoIntoWithdrawnBuffer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &ownSender{encoded: func(r *send.Request, _ Future, _ uint64) {
		r.Ticket = send.Ticket{Queue: withdrawer(true)}
		cancel()
	}}
	b := make([]byte, 5, 64)
	err := SyncCtx{s}.DoInto(ctx, &b, "GET", "k")
	assertType(t, ErrRequestWithdrawn, err)
	assert.Empty(t, b)
	assert.Equal(t, 64, cap(b))
}

type withdrawer bool

func (w withdrawer) Withdraw(uint64) bool { return bool(w) }
