package redis

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
)

// foreignSender is a Sender like a user's, with only the public interface. A method must not be
// called if its function is nil.
type foreignSender struct {
	send        func(r Request, cb Future, n uint64)
	sendMany    func(r []Request, cb Future, start uint64)
	transaction func(r []Request, cb Future, start uint64)
	scanner     func(opts ScanOpts) Scanner
}

func (f *foreignSender) Send(r Request, cb Future, n uint64)           { f.send(r, cb, n) }
func (f *foreignSender) SendMany(r []Request, cb Future, start uint64) { f.sendMany(r, cb, start) }
func (f *foreignSender) SendTransaction(r []Request, cb Future, start uint64) {
	f.transaction(r, cb, start)
}
func (f *foreignSender) Scanner(opts ScanOpts) Scanner { return f.scanner(opts) }
func (f *foreignSender) EachShard(each func(Sender, error) bool) {
	each(f, nil)
}
func (f *foreignSender) Close() {}

// ownSender is a sender that takes encoded requests, like connections.
type ownSender struct {
	foreignSender
	encoded func(r *send.Request, cb Future, n uint64)
	slots   bool
}

func (o *ownSender) SendEncoded(r *send.Request, cb Future, n uint64) { o.encoded(r, cb, n) }
func (o *ownSender) WantsSlot() bool                                  { return o.slots }
func (o *ownSender) OpenDedicated(context.Context, []string, error) (send.Dedicated, error) {
	return nil, ErrSession.New("a fake has no sessions")
}

// answering returns an ownSender that answers each request with the bytes in reply.
func answering(reply string, limits Limits) *ownSender {
	return &ownSender{encoded: func(r *send.Request, cb Future, n uint64) {
		d := NewDecoder(bufio.NewReaderSize(strings.NewReader(reply), 32), limits)
		var res any
		var err error
		if r.Typed {
			res, err = cb.(resp.ReplyDecoder).DecodeReply(d.codec(), n)
		} else {
			res, err = d.Decode()
		}
		if err != nil {
			res = err
		}
		cb.Resolve(res, n)
	}}
}

// encode returns a request as the bytes that are sent.
func encode(t *testing.T, cmd string, args ...any) string {
	t.Helper()
	buf, err := AppendRequest(nil, Request{Cmd: cmd, Args: args})
	require.NoError(t, err)
	return string(buf)
}

// words returns the command and arguments of an encoded request.
func words(t testing.TB, encoded []byte) []string {
	t.Helper()
	r := bufio.NewReader(bytes.NewReader(encoded))
	res, n := ReadResponse(r)
	require.Equal(t, len(encoded), n)
	require.IsType(t, []any{}, res)
	var out []string
	for _, word := range res.([]any) {
		require.IsType(t, []byte{}, word)
		out = append(out, string(word.([]byte)))
	}
	return out
}

// assertType asserts that res is an error of exactly that type.
func assertType(t testing.TB, typ *errorx.Type, res any, what ...any) {
	t.Helper()
	err := AsErrorx(res)
	if assert.NotNil(t, err, what...) {
		assert.Equal(t, typ.FullName(), err.Type().FullName(), what...)
	}
}

// assertNoSecret asserts that an error does not show an argument "canary" or
// 12345678, however it is printed.
func assertNoSecret(t testing.TB, err error) {
	t.Helper()
	for _, verb := range []string{"%v", "%+v", "%s", "%#v", "%q"} {
		text := fmt.Sprintf(verb, err)
		assert.NotContains(t, text, "canary", verb)
		assert.NotContains(t, text, "12345678", verb)
	}
	assert.NotContains(t, err.Error(), "canary")
}
