package redis

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
)

func TestSync(t *testing.T) {
	for name, s := range map[string]Sender{
		"own":     &ownSender{encoded: func(r *send.Request, cb Future, n uint64) { cb.Resolve(string(r.Arg(1)), n) }},
		"foreign": echoing(),
	} {
		assert.Equal(t, "a", Sync{s}.Do("ECHO", "a"), name)
		assert.Equal(t, "a", Sync{s}.Send(Req("ECHO", "a")), name)
		assert.Equal(t, "a", SyncCtx{s}.Do(t.Context(), "ECHO", "a"), name)
		assert.Equal(t, "a", SyncCtx{s}.Send(t.Context(), Req("ECHO", "a")), name)
	}
}

// A caller may change its arguments as soon as a call has returned. A request that is still in
// flight then has copies.
func TestSyncArgumentsAreCopied(t *testing.T) {
	var kept Request
	s := Sync{&foreignSender{send: func(r Request, cb Future, n uint64) {
		kept = r
		cb.Resolve(nil, n)
	}}}
	b := []byte("value")
	args := []any{"k", b}
	s.Do("SET", args...)
	b[0], args[0] = 'x', "other"
	assert.Equal(t, Req("SET", "k", []byte("value")), kept)
}

func TestSyncErrors(t *testing.T) {
	bad := struct{}{}
	for name, s := range map[string]Sender{
		"own":     &ownSender{},
		"foreign": &foreignSender{},
	} {
		res := Sync{s}.Do("SET", "canary", bad)
		assertType(t, ErrArgumentType, res, name)
		err := AsErrorx(res)
		pos, _ := err.Property(EKArgPos)
		assert.Equal(t, 1, pos, name)
		assert.True(t, err.HasTrait(ErrTraitNotSent), name)
		assertNoSecret(t, err)
		assertNoSecret(t, AsError(Sync{s}.Do("GET canary", bad)))
	}
	foreign := errors.New("foreign")
	s := Sync{&foreignSender{send: func(_ Request, cb Future, n uint64) { cb.Resolve(foreign, n) }}}
	assert.Equal(t, foreign, s.Do("GET", "k"))
	res := Sync{answering("-ERR no\r\n", Limits{})}.Do("SET", "canary", 12345678)
	req, _ := AsErrorx(res).Property(EKRequest)
	assert.Equal(t, Req("SET", "canary", 12345678), req)
	assertNoSecret(t, AsError(res))
}

// decorator embeds a sender and extends Send, like users' wrappers that measure, log, or add a
// prefix to keys.
type decorator struct {
	*handle
	sent *[]string
}

func (d decorator) Send(r Request, cb Future, n uint64) {
	*d.sent = append(*d.sent, r.Cmd)
	cb.Resolve("decorated", n)
}

// uncomparable is a decorator whose values can't be compared with ==.
type uncomparable struct {
	decorator
	labels map[string]string
}

// A decorator's own Send is called, not the backend of the sender that it embeds.
func TestDecoratorIsNotBypassed(t *testing.T) {
	own := &ownSender{encoded: func(_ *send.Request, cb Future, n uint64) { cb.Resolve("bypassed", n) }}
	var sent []string
	h := &handle{own}
	d := decorator{h, &sent}
	for name, s := range map[string]Sender{
		"value": d, "pointer": &d,
		"twice": struct{ decorator }{d}, "uncomparable": uncomparable{d, nil}, "pointer to uncomparable": &uncomparable{d, nil},
	} {
		sent = nil
		assert.Equal(t, "decorated", Sync{s}.Do("GET", "k"), name)
		assert.Equal(t, "decorated", Sync{s}.Send(Req("SET", "k")), name)
		assert.Equal(t, "decorated", SyncCtx{s}.Do(t.Context(), "INCR", "k"), name)
		var text string
		assert.NoError(t, Sync{s}.DoInto(&text, "TTL", "k"), name)
		assert.Equal(t, "decorated", text, name)
		assert.Equal(t, []string{"GET", "SET", "INCR", "TTL"}, sent, name)
	}
	assert.Equal(t, "bypassed", Sync{h}.Do("GET", "k"), "the sender itself is taken at its word")
}

func TestSyncCtxNilContext(t *testing.T) {
	var none context.Context
	s := SyncCtx{&foreignSender{}}
	assertType(t, ErrContextIsNil, s.Do(none, "GET", "k"))
	assertType(t, ErrContextIsNil, s.Send(none, Req("GET", "k")))
	results := s.SendMany(none, []Request{Req("GET", "k"), Req("GET", "k")})
	require.Len(t, results, 2)
	for _, res := range results {
		assertType(t, ErrContextIsNil, res)
	}
	_, err := s.SendTransaction(none, nil)
	assertType(t, ErrContextIsNil, err)
}

// A result that has arrived counts, even if the context has ended since.
func TestSyncCtxResultWins(t *testing.T) {
	for range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		s := &foreignSender{send: func(_ Request, cb Future, n uint64) {
			cb.Resolve("value", n)
			cancel()
		}}
		require.Equal(t, "value", SyncCtx{s}.Do(ctx, "GET", "k"))
	}
}

// noContext is a nil context.
var noContext context.Context
