package redis

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/resp"
)

// scriptNode is a Sender that keeps requests until the test answers them.
type scriptNode struct {
	foreignSender
	sent []sentRequest
	tx   []Request
	txcb Future
}

type sentRequest struct {
	req Request
	cb  Future
	n   uint64
}

func newScriptNode() *scriptNode {
	s := &scriptNode{}
	s.send = func(r Request, cb Future, n uint64) { s.sent = append(s.sent, sentRequest{r, cb, n}) }
	s.sendMany = func(reqs []Request, cb Future, start uint64) {
		for i, r := range reqs {
			s.sent = append(s.sent, sentRequest{r, cb, start + uint64(i)})
		}
	}
	s.transaction = func(reqs []Request, cb Future, _ uint64) { s.tx, s.txcb = reqs, cb }
	return s
}

// answer answers the oldest request.
func (s *scriptNode) answer(res any) {
	first := s.sent[0]
	s.sent = s.sent[1:]
	first.cb.Resolve(res, first.n)
}

// pending lists the unanswered requests: commands with their last arguments.
func (s *scriptNode) pending() string { return showLast(reqsOf(s.sent)) }

func reqsOf(sent []sentRequest) (reqs []Request) {
	for _, s := range sent {
		reqs = append(reqs, s.req)
	}
	return reqs
}

func showLast(reqs []Request) string {
	var out []string
	for _, r := range reqs {
		out = append(out, fmt.Sprint(r.Cmd, " ", r.Args[len(r.Args)-1]))
	}
	return strings.Join(out, ", ")
}

func missOf(node string) error {
	return resp.ErrorReply("NOSCRIPT No matching script. Please use EVAL.").WithProperty(EKAddress, node)
}

// gotten is a future that keeps results.
type gotten map[uint64]any

func (r gotten) Resolve(res any, n uint64) { r[n] = res }
func (r gotten) Cancelled() error          { return nil }

func TestScriptRequest(t *testing.T) {
	s := NewScript("return 1")
	const hash = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"
	assert.Equal(t, Req("EVALSHA", hash, 1, "k", "a", 2), s.Request([]string{"k"}, "a", 2))
	assert.Equal(t, Req("EVALSHA_RO", hash, 0), NewReadOnlyScript("return 1").Request(nil))
	s = NewScript("return 1").ServerHash()
	assert.Equal(t, Req("EVAL", "return 1", 0), s.Request(nil))
	require.NoError(t, s.confirm(hash))
	assert.Equal(t, Req("EVALSHA", hash, 0), s.Request(nil))
}

func TestScriptBurst(t *testing.T) {
	node, got := newScriptNode(), gotten{}
	s := NewScript("canary")
	db := WithScripts(node, s)
	arg := []byte{'0'}
	for i := range 5 {
		arg[0] = byte('0' + i)
		db.Send(s.Request(nil, arg), got, uint64(i))
		arg[0] = 'x' // arguments may be changed as soon as Send returns
	}
	for range 3 {
		node.answer(missOf("a"))
	}
	node.answer(missOf("b")) // another node of a cluster answers
	node.answer("OK")
	assert.Equal(t, gotten{4: "OK"}, got)
	require.Equal(t, "EVAL [48], EVAL [51]", node.pending(), "one body for each node")
	assert.Equal(t, "canary", node.sent[0].req.Args[0])
	node.answer("a0")
	assert.Equal(t, "EVAL [51], EVALSHA [49], EVALSHA [50]", node.pending(), "the others follow in order")
	node.answer("b3")
	node.answer("a1")
	node.answer("a2")
	assert.Equal(t, gotten{0: "a0", 1: "a1", 2: "a2", 3: "b3", 4: "OK"}, got)
	assert.Empty(t, s.bursts)
}

// TestScriptFutureExits checks that the other calls that wait for the same body end even if one
// future ends its goroutine.
func TestScriptFutureExits(t *testing.T) {
	node, got := newScriptNode(), gotten{}
	s := NewScript("x")
	db := WithScripts(node, s)
	exits := FuncFuture(func(any, uint64) { runtime.Goexit() })
	for i, cb := range []Future{got, exits, got, exits, got} {
		db.Send(s.Request(nil, i), cb, uint64(i))
	}
	for range 5 {
		node.answer(missOf("a"))
	}
	node.send = func(_ Request, cb Future, n uint64) { cb.Resolve("OK", n) } // resolves before Send returns
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		node.answer("OK")
	}()
	<-ended
	assert.Equal(t, gotten{0: "OK", 2: "OK", 4: "OK"}, got)
}

// If a sender panics or ends its goroutine while it sends a body, the calls that wait for the body
// still end.
func TestScriptSenderEnds(t *testing.T) {
	for name, end := range map[string]func(){"panics": func() { panic("sender") }, "exits": runtime.Goexit} {
		node, got := newScriptNode(), gotten{}
		s := NewScript("x")
		db := WithScripts(node, s)
		for i := range 3 {
			db.Send(s.Request(nil, i), got, uint64(i))
		}
		send, missed := node.send, node.sent
		node.sent = nil
		node.send = func(_ Request, _ Future, _ uint64) {
			node.send = send
			for _, m := range missed[1:] { // these calls come while the sender has the body
				m.cb.Resolve(missOf("a"), m.n)
			}
			end()
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			defer func() { _ = recover() }()
			missed[0].cb.Resolve(missOf("a"), missed[0].n)
		}()
		<-ended
		require.Equal(t, "EVALSHA 1, EVALSHA 2", node.pending(), name)
		node.answer("OK")
		node.answer("OK")
		err := Err(got[0])
		assert.ErrorIs(t, err, ErrUnknown, name)
		assert.Equal(t, gotten{0: got[0], 1: "OK", 2: "OK"}, got, name)
		assert.Empty(t, s.bursts, name)
	}
}

// If a sender panics when it gets a call that has waited for a body, each call still ends once.
func TestScriptSenderEndsForACallThatHasWaited(t *testing.T) {
	for name, end := range map[string]func(){"panics": func() { panic("sender") }, "exits": runtime.Goexit} {
		for _, answers := range []bool{false, true} {
			node, got := newScriptNode(), gotten{}
			s := NewScript("x")
			db := WithScripts(node, s)
			for i := range 3 {
				db.Send(s.Request(nil, i), got, uint64(i))
			}
			missed := node.sent
			node.sent = nil
			for _, m := range missed {
				m.cb.Resolve(missOf("a"), m.n)
			}
			require.Equal(t, "EVAL 0", node.pending(), name)
			send := node.send
			node.send = func(_ Request, cb Future, n uint64) {
				node.send = send
				if answers {
					cb.Resolve("OK", n)
				}
				end()
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				defer func() { _ = recover() }()
				node.answer("OK")
			}()
			<-ended
			require.Len(t, got, 2, name)
			if answers {
				assert.Equal(t, "OK", got[1], name)
			} else {
				assert.ErrorIs(t, Err(got[1]), ErrUnknown, name)
			}
			node.answer("OK")
			assert.Equal(t, gotten{0: "OK", 1: got[1], 2: "OK"}, got, name)
		}
	}
}

func TestScriptFlushedAgain(t *testing.T) {
	node, got := newScriptNode(), gotten{}
	s := NewScript("x")
	db := WithScripts(node, s)
	db.Send(s.Request(nil, "late"), got, 1)
	for range maxScriptRounds {
		db.Send(s.Request(nil, "other"), nil, 0)
		node.sent[0], node.sent[1] = node.sent[1], node.sent[0]
		node.answer(missOf("a")) // the other call sends the body, because its NOSCRIPT comes first
		node.answer(missOf("a"))
		require.Equal(t, "EVAL other", node.pending())
		node.answer("OK")
		require.Equal(t, "EVALSHA late", node.pending())
	}
	node.answer(missOf("a"))
	assert.Equal(t, "SCRIPT LOAD x, EVAL late", node.pending(), "a body can't miss")
	node.answer([]byte(*s.hash.Load()))
	node.answer(missOf("a"))
	assertType(t, ErrNoScript, got[1], "what the script itself raises is its result")
}

func TestScriptLeaderFails(t *testing.T) {
	node, got := newScriptNode(), gotten{}
	s := NewScript("x")
	db := WithScripts(node, s)
	db.Send(s.Request(nil, "a"), got, 0)
	db.Send(s.Request(nil, "b"), got, 1)
	node.answer(missOf(""))
	node.answer(missOf(""))
	node.answer(ErrIO.New("lost"))
	assertType(t, ErrIO, got[0])
	node.answer(missOf(""))
	assert.Equal(t, "EVAL b", node.pending())
	node.answer("OK")
	assert.Equal(t, "OK", got[1])
}

func TestScriptBatch(t *testing.T) {
	node, got := newScriptNode(), gotten{}
	s, other := NewScript("x"), NewScript("y")
	db := WithScripts(node, s, other)
	batch := []Request{s.Request(nil, "1"), Req("GET", "k"), s.Request(nil, "2"), other.Request(nil, "3")}
	db.SendMany(batch, got, 10)
	assert.Equal(t, "EVAL 1, GET k, EVALSHA 2, EVAL 3", node.pending(), "bodies first, while no server is known to have them")
	assert.Equal(t, "EVALSHA", batch[0].Cmd, "the caller's requests stay as they are")
	for i := range batch {
		node.answer(i)
	}
	assert.Equal(t, gotten{10: 0, 11: 1, 12: 2, 13: 3}, got)

	db.SendMany(batch, got, 10)
	assert.Equal(t, "EVALSHA 1, GET k, EVALSHA 2, EVALSHA 3", node.pending())
	node.answer(missOf("a"))
	node.answer("value")
	node.answer(missOf("a"))
	node.answer("three")
	assert.Equal(t, "EVAL 1", node.pending())
	node.answer("one")
	node.answer("two")
	assert.Equal(t, gotten{10: "one", 11: "value", 12: "two", 13: "three"}, got)

	db.SendMany([]Request{Req("GET", "k")}, got, 20)
	node.answer("plain")
	assert.Equal(t, "plain", got[20])
}

func TestScriptTransaction(t *testing.T) {
	node, got := newScriptNode(), gotten{}
	s, other := NewScript("x"), NewScript("y")
	db := WithScripts(node, s, other)
	s.loaded.Store(true)
	db.SendTransaction([]Request{s.Request(nil, "1"), other.Request(nil, "2"), s.Request(nil, "3"), Req("GET", "k")}, got, 7)
	assert.Equal(t, "EVAL 1, EVAL 2, EVALSHA 3, GET k", showLast(node.tx))
	refused := resp.ErrorReply("ERR Error compiling script")
	node.txcb.Resolve([]any{refused, "OK", missOf(""), "v"}, 7)
	assert.Equal(t, []any{refused, "OK", refused, "v"}, got[7], "the reason why it is not there")

	db.SendTransaction([]Request{Req("GET", "k")}, got, 8)
	node.txcb.Resolve(nil, 8)
	assert.Nil(t, got[8])
}

func TestScriptServerHash(t *testing.T) {
	node := newScriptNode()
	s := NewScript("x").ServerHash()
	const hash = "0123456789012345678901234567890123456789"
	s.ask(node)
	s.ask(node)
	assert.Equal(t, "SCRIPT LOAD x", node.pending(), "once")
	node.answer(ErrIO.New("lost"))
	s.ask(node)
	node.answer([]byte(hash))
	assert.Equal(t, Req("EVALSHA", hash, 0), s.Request(nil))

	refused := NewScript("x").ServerHash()
	refused.ask(node)
	node.answer(resp.ErrorReply("NOPERM no"))
	refused.ask(node)
	assert.Empty(t, node.sent, "who was refused does not ask again")
	assert.Equal(t, Req("EVAL", "x", 0), refused.Request(nil))
}

// TestScriptHashDisputed checks that a call is not sent if a server computes another hash.
func TestScriptHashDisputed(t *testing.T) {
	var answer any
	node := &foreignSender{send: func(_ Request, cb Future, n uint64) { cb.Resolve(answer, n) }}
	for name, s := range map[string]*Script{
		"computed": NewScript("canary"), "agreed": NewScript("canary").ServerHash(), "garbled": NewScript("canary").ServerHash(),
	} {
		t.Run(name, func(t *testing.T) {
			answer = []byte("0123456789012345678901234567890123456789")
			switch name {
			case "agreed":
				require.NoError(t, s.Load(t.Context(), node))
				answer = []byte("9876543210987654321098765432109876543210")
			case "garbled":
				answer = []byte("canary")
			}
			assertType(t, ErrScriptHash, s.Load(t.Context(), node))
			err := AsError(s.Do(t.Context(), node, nil))
			assertType(t, ErrScriptHash, err)
			assertNoSecret(t, err)
			assert.Equal(t, OutcomeNotSent, OutcomeOf(err))
			var n int
			assertType(t, ErrScriptHash, s.DoInto(t.Context(), node, &n, nil))
		})
	}
}

func TestScriptNilContext(t *testing.T) {
	s, f := NewScript("x"), NewLibrary("x").Function("f")
	assertType(t, ErrContextIsNil, s.Do(noContext, nil, nil))
	assertType(t, ErrContextIsNil, s.DoInto(noContext, nil, nil, nil))
	assertType(t, ErrContextIsNil, s.Load(noContext, nil))
	assertType(t, ErrContextIsNil, f.Do(noContext, nil, nil))
	assertType(t, ErrContextIsNil, f.DoInto(noContext, nil, nil, nil))
}

func TestFunctionRounds(t *testing.T) {
	var calls, loads int
	loaded := any("lib")
	node := &foreignSender{}
	node.send = func(r Request, cb Future, n uint64) {
		if r.Cmd == "FUNCTION LOAD" {
			loads++
			cb.Resolve(loaded, n)
			return
		}
		calls++
		cb.Resolve(resp.ErrorReply("ERR Function not found"), n)
	}
	f := NewLibrary("x").Function("f")
	assertType(t, ErrResult, f.Do(t.Context(), node, nil))
	assert.Equal(t, []int{maxFunctionRounds + 1, maxFunctionRounds}, []int{calls, loads}, "bounded, while somebody flushes")
	calls, loads, loaded = 0, 0, resp.ErrorReply("NOPERM no")
	assertType(t, ErrResult, f.Do(t.Context(), node, nil))
	assert.Equal(t, []int{1, 1}, []int{calls, loads}, "nothing to gain by repeating")
}

// If a call's context ends while the library is loaded, the error says that, and not that the
// library is missing.
func TestFunctionContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	node := &foreignSender{send: func(r Request, cb Future, n uint64) {
		if r.Cmd == "FUNCTION LOAD" {
			cancel()
			return
		}
		cb.Resolve(resp.ErrorReply("ERR Function not found"), n)
	}}
	f := NewLibrary("x").Function("f")
	err := Err(f.Do(ctx, node, nil))
	assertType(t, ErrRequestWithdrawn, err)
	assert.ErrorIs(t, err, context.Canceled)
	assert.True(t, SafeToRetry(err))
}

// WithScripts ignores a nil script.
func TestWithNilScript(t *testing.T) {
	s := Sync{WithScripts(echoing(), nil, NewScript("return 1"))}
	assert.Equal(t, "a", s.Do("ECHO", "a"))
	assert.Equal(t, []any{"a"}, s.SendMany([]Request{Req("ECHO", "a")}))
}

// TestScriptBadArgument checks that an argument that can't be sent is refused, also if the script's
// body is sent.
func TestScriptBadArgument(t *testing.T) {
	for _, bad := range []any{struct{}{}, Args(make(chan int))[0]} {
		node := newScriptNode()
		s := NewScript("return 1")
		reqs := []Request{s.Request([]string{"k"}, "a", bad)}
		scripts := WithScripts(node, s)
		scripts.Send(reqs[0], nil, 0)
		scripts.SendMany(reqs, nil, 0)
		scripts.SendTransaction(reqs, nil, 0)
		for _, req := range append(reqsOf(node.sent), node.tx...) {
			assertType(t, ErrArgumentType, CheckRequest(req, false), req.Cmd)
		}
		assert.Len(t, append(node.sent, sentRequest{req: node.tx[0]}), 3)
	}
}
