package redis

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
)

type hookKey struct{}

// recording is a Hook that keeps the operations that it is called for.
type recording struct {
	mu     sync.Mutex
	seen   []string
	ends   []Completion
	before func(ctx context.Context)
}

func (r *recording) Before(ctx context.Context, op Operation) context.Context {
	if r.before != nil {
		r.before(ctx)
	}
	return context.WithValue(ctx, hookKey{}, fmt.Sprintf("%v/", ctx.Value(hookKey{})))
}

func (r *recording) After(ctx context.Context, op Operation, end Completion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, fmt.Sprintf("%v %d %s %d: %s %s", ctx.Value(hookKey{}), op.Kind, op.Command, op.Requests, end.Outcome, end.Address))
	r.ends = append(r.ends, end)
}

// await waits until the hook was called for n operations, and returns them.
func (r *recording) await(t *testing.T, n int) []string {
	t.Helper()
	require.Eventually(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.seen) >= n
	}, 10*time.Second, time.Millisecond)
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.seen...)
}

// placing returns a Sender that answers at once with res, and names the server.
func placing(res any) *ownSender {
	answer := func(cb Future, n uint64) {
		if cb == nil {
			return
		}
		if send.Observes(cb) {
			send.AnsweredBy(cb, send.Server{Address: "there", Peer: "127.0.0.1:1"})
		}
		cb.Resolve(res, n)
	}
	s := &ownSender{}
	s.encoded = func(_ *send.Request, cb Future, n uint64) { answer(cb, n) }
	s.send = func(_ Request, cb Future, n uint64) { answer(cb, n) }
	s.sendMany = func(r []Request, cb Future, start uint64) {
		for i := range r {
			answer(cb, start+uint64(i))
		}
	}
	s.transaction = func(r []Request, cb Future, start uint64) {
		send.AnsweredBy(cb, send.Server{Address: "there"})
		if _, failed := res.(error); failed {
			cb.Resolve(res, start)
			return
		}
		cb.Resolve([]any{res}, start)
	}
	s.scanner = func(opts ScanOpts) Scanner {
		return &baseScanner{ScannerBase{ScanOpts: opts}, &foreignSender{send: func(_ Request, cb Future, n uint64) {
			cb.Resolve([]any{[]byte("0"), []any{[]byte("key")}}, n)
		}}}
	}
	return s
}

// baseScanner is a Scanner that embeds ScannerBase.
type baseScanner struct {
	ScannerBase
	s Sender
}

func (b *baseScanner) Next(cb Future) { b.DoNext(cb, b.s) }

// The hook is called once for each request, no matter how the request is sent, with the caller's
// context if there is one.
func TestHookWays(t *testing.T) {
	ctx := context.WithValue(context.Background(), hookKey{}, "caller")
	get := Req("get", "secret")
	reqs := []Request{get, Req("SET", "k", "v")}
	nothing := FuncFuture(func(any, uint64) {})
	for name, c := range map[string]struct {
		call func(s Sender)
		want string
	}{
		"Sync.Do":     {func(s Sender) { Sync{s}.Do("GET", "k") }, "<nil>/ 0 GET 1: value there"},
		"SyncCtx.Do":  {func(s Sender) { SyncCtx{s}.Do(ctx, "GET", "k") }, "caller/ 0 GET 1: value there"},
		"Send":        {func(s Sender) { SyncCtx{s}.Send(ctx, get) }, "caller/ 0 GET 1: value there"},
		"container":   {func(s Sender) { SyncCtx{s}.Do(ctx, "CLUSTER", "slots") }, "caller/ 0 CLUSTER SLOTS 1: value there"},
		"module":      {func(s Sender) { SyncCtx{s}.Do(ctx, "json.get", "slots") }, "caller/ 0 JSON.GET 1: value there"},
		"no name":     {func(s Sender) { SyncCtx{s}.Do(ctx, "se/cr et") }, "caller/ 0 _OTHER 1: value there"},
		"DoInto":      {func(s Sender) { var n int64; _ = SyncCtx{s}.DoInto(ctx, &n, "INCR", "k") }, "caller/ 0 INCR 1: value there"},
		"SendMany":    {func(s Sender) { SyncCtx{s}.SendMany(ctx, reqs) }, "caller/ 1  2: value there"},
		"many GETs":   {func(s Sender) { Sync{s}.SendMany([]Request{get, get}) }, "<nil>/ 1 GET 2: value there"},
		"transaction": {func(s Sender) { _, _ = SyncCtx{s}.SendTransaction(ctx, reqs) }, "caller/ 2  2: value there"},
		"scan": {func(s Sender) {
			keys, err := SyncCtx{s}.Scanner(ctx, ScanOpts{Cmd: "hscan"}).Next()
			assert.NoError(t, err)
			assert.Equal(t, []string{"key"}, keys)
		}, "caller/ 3 HSCAN 1: value "},
		"future":             {func(s Sender) { s.Send(get, nothing, 7) }, "<nil>/ 0 GET 1: value there"},
		"no future":          {func(s Sender) { s.Send(get, nil, 7) }, "<nil>/ 0 GET 1: value there"},
		"ChanFutured":        {func(s Sender) { ChanFutured{s}.Send(get).Value() }, "<nil>/ 0 GET 1: value there"},
		"many futures":       {func(s Sender) { s.SendMany(reqs, nothing, 7) }, "<nil>/ 1  2: value there"},
		"future of EXEC":     {func(s Sender) { s.SendTransaction(reqs, nothing, 7) }, "<nil>/ 2  2: value there"},
		"future of a scan":   {func(s Sender) { s.Scanner(ScanOpts{}).Next(nothing) }, "<nil>/ 3 SCAN 1: value "},
		"EachShard":          {func(s Sender) { s.EachShard(func(s Sender, _ error) bool { Sync{s}.Do("PING"); return true }) }, "<nil>/ 0 PING 1: value there"},
		"two hooks":          {func(s Sender) { SyncCtx{WithHook(s, &recording{})}.Do(ctx, "GET", "k") }, "caller/ 0 GET 1: value there"},
		"decorator, wrapped": {func(s Sender) { SyncCtx{struct{ Sender }{s}}.Do(ctx, "GET", "k") }, "<nil>/ 0 GET 1: value there"},
	} {
		hook := &recording{}
		c.call(WithHook(placing([]byte("1")), hook))
		assert.Equal(t, []string{c.want}, hook.await(t, 1), name)
	}
}

// The hook gets the worst of several results, and the server that an error came from.
func TestHookCompletion(t *testing.T) {
	hook := &recording{}
	refused := ErrResult.New("ERR no").WithProperty(EKAddress, "here")
	s := &foreignSender{sendMany: func(_ []Request, cb Future, start uint64) {
		cb.Resolve([]byte("x"), start)
		cb.Resolve(refused, start+2)
		cb.Resolve(ErrIO.New("first"), start+1)
		cb.Resolve(ErrIO.New("second"), start+3)
		cb.Resolve(refused, start+3) // a user's Sender may pass a wrong number
	}}
	reqs := []Request{Req("A"), Req("A"), Req("A"), Req("A")}
	results := Sync{WithHook(s, hook)}.SendMany(reqs)
	end := hook.ends[0]
	assert.Equal(t, results, end.Result)
	assert.Equal(t, OutcomeUnknown, end.Outcome)
	assert.Equal(t, Err(results[1]), end.Err)
	assert.Positive(t, end.Duration)

	Sync{WithHook(placing(refused), hook)}.Do("GET", "k")
	assert.Equal(t, "<nil>/ 0 GET 1: refused there", hook.seen[1])
	Sync{WithHook(&foreignSender{send: func(_ Request, cb Future, n uint64) { cb.Resolve(refused, n) }}, hook)}.Do("GET", "k")
	assert.Equal(t, "<nil>/ 0 GET 1: refused here", hook.seen[2])
}

// overriding embeds a Sender and has its own Send.
type overriding struct {
	*handle
	sent int
}

func (o *overriding) Send(_ Request, cb Future, n uint64) {
	o.sent++
	cb.Resolve("decorated", n)
}

// A hook around a decorator calls the decorator's methods, not those of the embedded sender.
func TestHookOfDecorator(t *testing.T) {
	inner := placing("bare")
	require.Equal(t, Sender(inner), WithHook(inner, nil))
	decorator := &overriding{handle: &handle{inner}}
	hook := &recording{}
	assert.Equal(t, "decorated", Sync{WithHook(decorator, hook)}.Do("GET", "k"))
	assert.Equal(t, 1, decorator.sent)
	assert.Equal(t, []string{"<nil>/ 0 GET 1: value "}, hook.seen)

	outer := &foreignSender{}
	around := struct{ Sender }{WithHook(inner, hook)}
	outer.send = func(_ Request, cb Future, n uint64) { around.Send(Req("SET", "other", "way"), cb, n) }
	assert.Equal(t, "bare", Sync{outer}.Do("GET", "k"))
	assert.Equal(t, "<nil>/ 0 SET 1: value there", hook.await(t, 2)[1])
}

// A sender with a hook passes on encoded requests.
func TestHookKeepsEncoded(t *testing.T) {
	s := answering(":7\r\n", Limits{}) // Send would panic
	var n int64
	require.NoError(t, SyncCtx{WithHook(s, &recording{})}.DoInto(context.Background(), &n, "INCR", "k"))
	assert.EqualValues(t, 7, n)
}

func TestHookPanics(t *testing.T) {
	var printed bytes.Buffer
	defer log.SetOutput(log.Writer())
	log.SetOutput(&printed)
	hook := &recording{before: func(context.Context) { panic("broken hook") }}
	s := WithHook(placing("fine"), hook)
	for range 3 {
		assert.Equal(t, "fine", Sync{s}.Do("GET", "k"))
		assert.Equal(t, "fine", ChanFutured{s}.Send(Req("GET", "k")).Value())
	}
	assert.Empty(t, hook.seen)
	assert.Equal(t, 1, bytes.Count(printed.Bytes(), []byte("broken hook")))
}

// A hook that ends its goroutine ends at most its caller's goroutine, and all other calls complete.
func TestHookExits(t *testing.T) {
	hook := &recording{before: func(context.Context) { runtime.Goexit() }}
	s := WithHook(placing("fine"), hook)
	for range 3 {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			Sync{s}.Do("GET", "k")
		}()
		<-ended
	}

	s = WithHook(placing("fine"), exitingHook{})
	for range 3 {
		assert.Equal(t, "fine", ChanFutured{s}.Send(Req("GET", "k")).Value())
	}
}

// exitingHook ends the goroutine in After.
type exitingHook struct{}

func (exitingHook) Before(ctx context.Context, _ Operation) context.Context { return ctx }

func (exitingHook) After(context.Context, Operation, Completion) { runtime.Goexit() }

// A hook is not called for requests that it sends with its own context. If it sends without that
// context, the recursion still ends.
func TestHookCallsBack(t *testing.T) {
	var sent atomic.Int64
	inner := placing("fine")
	encoded := inner.encoded
	inner.encoded = func(r *send.Request, cb Future, n uint64) { sent.Add(1); encoded(r, cb, n) }
	hook := &recording{}
	s := WithHook(inner, hook)
	hook.before = func(ctx context.Context) { SyncCtx{s}.Do(ctx, "INCR", "calls") }
	assert.Equal(t, "fine", Sync{s}.Do("GET", "k"))
	assert.EqualValues(t, 2, sent.Load())
	assert.Equal(t, []string{"<nil>/ 0 GET 1: value there"}, hook.seen)

	hook.before = func(context.Context) { Sync{s}.Do("INCR", "calls") }
	assert.Equal(t, "fine", Sync{s}.Do("GET", "k"))
}

// A hook that blocks in After blocks only its own caller.
func TestHookBlocks(t *testing.T) {
	hook := blockingHook{make(chan struct{})}
	s := WithHook(placing("fine"), hook)
	for range 100 {
		assert.Equal(t, "fine", ChanFutured{s}.Send(Req("GET", "k")).Value())
	}
	close(hook.release)
}

type blockingHook struct{ release chan struct{} }

func (b blockingHook) Before(context.Context, Operation) context.Context { return nil }
func (b blockingHook) After(context.Context, Operation, Completion)      { <-b.release }

// The number of unknown names is bounded, no matter how many are sent.
func TestOperationNames(t *testing.T) {
	forget := func(n *names) {
		n.kept.Clear()
		n.count.Store(0)
	}
	for _, c := range []struct {
		all *names
		of  func(name string) string
	}{
		{&modules, func(name string) string { return requestOperation("mod."+name, nil).Command }},
		{&procedures, func(name string) string { return requestOperation("FCALL", []any{name, 0}).Procedure }},
	} {
		forget(c.all)
		defer forget(c.all) // other tests use different names
		seen := map[string]bool{}
		for i := range 10 * namesMost {
			seen[c.of(fmt.Sprint(i))] = true
		}
		assert.Len(t, seen, namesMost+1)
		assert.True(t, seen[OtherCommand])
		assert.Equal(t, OtherCommand, c.of("a/token"))
	}
	assert.Equal(t, Operation{Command: "XREAD", Requests: 1}, requestOperation("xread", nil))
}

// Procedure is the same for all requests that run the same script or function.
func TestOperationProcedure(t *testing.T) {
	get, one, other := Req("GET", "k"), Req("FCALL", "one", 0), Req("FCALL", "other", 0)
	for _, c := range []struct {
		reqs               []Request
		command, procedure string
	}{
		{[]Request{one}, "FCALL", "one"},
		{[]Request{one, one}, "FCALL", "one"},
		{[]Request{one, other, one}, "FCALL", ""},
		{[]Request{one, other, other}, "FCALL", ""},
		{[]Request{one, get}, "", ""},
		{[]Request{get, one}, "", ""},
		{[]Request{one, Req("FCALL_RO", "one", 0)}, "", ""},
	} {
		want := Operation{Kind: OperationMany, Command: c.command, Requests: len(c.reqs), Procedure: c.procedure}
		assert.Equal(t, want, operation(OperationMany, c.reqs))
	}
}

func BenchmarkHook(b *testing.B) {
	for _, c := range []struct {
		name string
		s    Sender
	}{{"none", placing("fine")}, {"empty", WithHook(placing("fine"), emptyHook{})}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Sync{c.s}.Do("GET", "key")
			}
		})
	}
}

type emptyHook struct{}

func (emptyHook) Before(ctx context.Context, _ Operation) context.Context { return ctx }
func (emptyHook) After(context.Context, Operation, Completion)            {}

// A lost connection may end a transaction while the reader still handles the answer to MULTI, or to
// a request after it, and reports the server of that answer.
func TestHookOfALostTransaction(t *testing.T) {
	s := placing("done")
	told := make(chan struct{})
	s.transaction = func(_ []Request, cb Future, start uint64) {
		go func() { // the race detector would report a fault
			defer close(told)
			send.AnsweredBy(cb, send.Server{Address: "there"})
		}()
		cb.Resolve(ErrIO.New("connection lost"), start)
	}
	_, err := Sync{S: WithHook(s, &recording{})}.SendTransaction([]Request{Req("GET", "key")})
	require.True(t, AsErrorx(err).IsOfType(ErrIO))
	<-told
}
