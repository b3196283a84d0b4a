package redis

import (
	"bufio"
	"context"
	"errors"
	"math"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/slot"
)

// skipIfPoolsForget skips the test under the race detector, with which a sync.Pool drops values.
func skipIfPoolsForget(t *testing.T) {
	if testing.AllocsPerRun(1, func() {
		for range 100 {
			pooledWaiter(context.Background(), &send.Request{}, nil, nil).recycle()
		}
	}) > 0 {
		t.Skip("the race detector has pools drop what is put into them, so that calls allocate")
	}
}

// Do allocates nothing for its arguments if the sender takes encoded requests.
func TestDoAllocates(t *testing.T) {
	skipIfPoolsForget(t)
	var ok any = "OK"
	own := &ownSender{slots: true, encoded: func(_ *send.Request, cb Future, n uint64) { cb.Resolve(ok, n) }}
	key, value, text := strings.Repeat("k", 40), []byte(strings.Repeat("v", 40)), strings.Repeat("v", 40)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	number := 1 << 30
	s, c := Sync{own}, SyncCtx{own}
	for name, f := range map[string]func() any{
		"Sync.Do":      func() any { return s.Do("SET", key, text) },
		"bytes":        func() any { return s.Do("SET", key, value) },
		"numbers":      func() any { return s.Do("SET", key, number, "EX", 1.5) },
		"SyncCtx.Do":   func() any { return c.Do(ctx, "SET", key, value) },
		"two words":    func() any { return s.Do("CONFIG SET", key, value) },
		"several keys": func() any { return s.Do("MSET", key, value, key, value) },
	} {
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			if f() != ok {
				panic("not OK")
			}
		}), name)
	}

	foreign := Sync{&foreignSender{send: func(_ Request, cb Future, n uint64) { cb.Resolve(ok, n) }}}
	// A user's Sender costs the waiter, the list of arguments, and for each argument its text and
	// header.
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() { foreign.Do("SET", key, value) }), 8.0)
}

func TestDoIntoAllocates(t *testing.T) {
	skipIfPoolsForget(t)
	text := "$5\r\nhello\r\n"
	source := strings.NewReader(text)
	d := NewDecoder(bufio.NewReader(source), Limits{})
	s := Sync{&ownSender{encoded: func(_ *send.Request, cb Future, n uint64) {
		source.Reset(text)
		res, err := cb.(resp.ReplyDecoder).DecodeReply(d.codec(), n)
		if err != nil {
			panic(err)
		}
		cb.Resolve(res, n)
	}}}
	b := make([]byte, 0, 16)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if err := s.DoInto(&b, "GET", "key"); err != nil || string(b) != "hello" {
			panic(err)
		}
	}))
}

// A sender gets an encoded request with its properties.
func TestDescribe(t *testing.T) {
	slotOf := func(key string) int { return int(slot.Of(key)) }
	for _, c := range []struct {
		cmd     string
		args    []any
		slot    int
		replica bool
		shared  command.Verdict
	}{
		{"GET", []any{"foo"}, slotOf("foo"), true, command.Allowed},
		{"get", []any{[]byte("foo")}, slotOf("foo"), true, command.Allowed},
		{"GET foo", nil, slotOf("foo"), true, command.Allowed},
		{"SET", []any{"foo", "v"}, slotOf("foo"), false, command.Allowed},
		{"SET", []any{12, "v"}, slotOf("12"), false, command.Allowed},
		{"SET", []any{float32(123456789), "v"}, slotOf("123456790"), false, command.Allowed},
		{"SET", []any{nil, "v"}, slotOf(""), false, command.Allowed},
		{"MGET", []any{"{a}1", "{a}2"}, slotOf("a"), true, command.Allowed},
		{"MGET", []any{"a", "b"}, send.ManySlots, true, command.Allowed},
		{"MSET", []any{"a", "b", "b", "a"}, send.ManySlots, false, command.Allowed},
		{"EVAL", []any{"return 1", 1, "foo", "arg"}, slotOf("foo"), false, command.Allowed},
		{"OBJECT ENCODING", []any{"foo"}, slotOf("foo"), true, command.Allowed},
		{"PING", nil, send.NoSlot, false, command.Allowed},
		{"BLPOP", []any{"foo", 0}, slotOf("foo"), false, command.WouldBlock},
		{"SELECT", []any{1}, send.NoSlot, false, command.ChangesSession},
		{"", []any{"foo"}, send.NoSlot, false, command.Malformed},
		{"GET  foo", nil, send.NoSlot, false, command.Malformed},
		{" GET", []any{"foo"}, send.NoSlot, false, command.Malformed},
	} {
		for _, slots := range []bool{true, false} {
			Sync{&ownSender{slots: slots, encoded: func(r *send.Request, cb Future, n uint64) {
				want := c.slot
				if !slots {
					want = send.NoSlot
				}
				assert.Equal(t, want, r.Slot, "%s %v", c.cmd, c.args)
				assert.Equal(t, c.replica, r.ReplicaSafe, "%s %v", c.cmd, c.args)
				assert.Equal(t, c.shared, r.Shared, "%s %v", c.cmd, c.args)
				assert.Equal(t, c.cmd, r.Cmd)
				assert.Equal(t, encode(t, c.cmd, c.args...), string(r.Buf))
				assert.False(t, r.Typed)
				assert.Zero(t, r.Deadline)
				cb.Resolve(nil, n)
			}}}.Do(c.cmd, c.args...)
		}
	}
	deadline := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(t.Context(), deadline)
	defer cancel()
	SyncCtx{&ownSender{encoded: func(r *send.Request, cb Future, n uint64) {
		assert.Equal(t, deadline, r.Deadline)
		cb.Resolve(nil, n)
	}}}.Do(ctx, "PING")
}

func TestDoEndedContext(t *testing.T) {
	cause := errors.New("the cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	res := SyncCtx{&foreignSender{}}.Do(ctx, "SET", "canary", 12345678)
	assertType(t, ErrRequestWithdrawn, res)
	assert.True(t, AsErrorx(res).HasTrait(ErrTraitNotSent))
	assert.Equal(t, context.Canceled, AsErrorx(res).Cause())
	assertNoSecret(t, AsError(res))
	req, _ := AsErrorx(res).Property(EKRequest)
	assert.Equal(t, Req("SET", "canary", 12345678), req)
}

func TestDoContextEnds(t *testing.T) {
	for name, c := range map[string]struct {
		withdraws bool
		want      string
	}{
		"withdrawn": {true, ErrRequestWithdrawn.FullName()},
		"abandoned": {false, ErrRequestCancelled.FullName()},
	} {
		var late Future
		ctx, cancel := context.WithCancel(t.Context())
		s := &ownSender{encoded: func(r *send.Request, cb Future, _ uint64) {
			r.Ticket = send.Ticket{Queue: withdrawer(c.withdraws)}
			late = cb
			assert.NoError(t, cb.Cancelled())
			cancel()
		}}
		res := SyncCtx{s}.Do(ctx, "GET", "canary")
		assert.Equal(t, c.want, AsErrorx(res).Type().FullName(), name)
		assert.Equal(t, context.Canceled, AsErrorx(res).Cause())
		assert.Equal(t, c.withdraws, AsErrorx(res).HasTrait(ErrTraitNotSent))
		assertNoSecret(t, AsError(res))
		if !c.withdraws {
			assertType(t, ErrRequestCancelled, late.Cancelled())
			late.Resolve("late", 0)
		}
	}
}

// Programs with their own Sender can use synctest: calls work inside and outside of a bubble.
func TestDoForeign(t *testing.T) {
	s := &foreignSender{send: func(r Request, cb Future, n uint64) {
		go func() {
			time.Sleep(time.Duration(r.Args[0].(int64)))
			cb.Resolve("slept", n)
		}()
	}}
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			began := time.Now()
			assert.Equal(t, "slept", SyncCtx{s}.Do(ctx, "SLEEP", int64(time.Second)))
			assert.Equal(t, time.Second, time.Since(began))
			res := SyncCtx{s}.Do(ctx, "SLEEP", int64(time.Hour))
			assert.Equal(t, time.Minute, time.Since(began))
			assertType(t, ErrRequestCancelled, res)
			assert.False(t, AsErrorx(res).HasTrait(ErrTraitNotSent))
			assert.Equal(t, context.DeadlineExceeded, AsErrorx(res).Cause())
			time.Sleep(2 * time.Hour) // the answer comes after the caller has left
		})
		assert.Equal(t, "slept", Sync{s}.Do("SLEEP", int64(1)))
	}
	for _, bad := range notArguments {
		res := Sync{s}.Do("SET", "canary", bad)
		assertType(t, ErrArgumentType, res)
		pos, _ := AsErrorx(res).Property(EKArgPos)
		assert.Equal(t, 1, pos)
		assertNoSecret(t, AsError(res))
	}
}

// If a Sender resolves a future twice, no other call is affected.
func TestDoForeignResolvesTwice(t *testing.T) {
	var late []Future
	s := Sync{&foreignSender{send: func(r Request, cb Future, n uint64) {
		for _, f := range late {
			f.Resolve("not yours", n)
		}
		cb.Resolve(r.Args[0], n)
		cb.Resolve("again", n)
		late = append(late, cb)
	}}}
	for i := range int64(100) {
		require.Equal(t, i, s.Do("ECHO", i))
	}
}

// If a result comes while the context ends, the call returns it or drops it. It never goes to
// another caller.
func TestWaiterRaces(t *testing.T) {
	const callers, calls = 8, 1000
	queue := &racingQueue{}
	s := SyncCtx{&ownSender{encoded: queue.send}}
	var wg sync.WaitGroup
	var values, withdrawn, abandoned atomic.Int32
	for i := range callers {
		wg.Go(func() {
			for j := range calls {
				id := strconv.Itoa(i*calls + j)
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					for range j % 4 {
						runtime.Gosched()
					}
					cancel()
				}()
				res := s.Do(ctx, "ECHO", id)
				cancel()
				switch err := AsErrorx(res); {
				case err == nil:
					values.Add(1)
					if res != id {
						t.Errorf("%v instead of %s", res, id)
					}
				case err.IsOfType(ErrRequestWithdrawn):
					withdrawn.Add(1)
				case err.IsOfType(ErrRequestCancelled):
					abandoned.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, callers*calls, values.Load()+withdrawn.Load()+abandoned.Load())
	t.Logf("%d values, %d withdrawn, %d abandoned", values.Load(), withdrawn.Load(), abandoned.Load())
}

// racingQueue answers ECHO in another goroutine, unless the request is withdrawn before.
type racingQueue struct {
	mu   sync.Mutex // guards seq
	seq  uint64
	here map[uint64]bool
}

func (q *racingQueue) send(r *send.Request, cb Future, n uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.here == nil {
		q.here = map[uint64]bool{}
	}
	q.seq++
	seq := q.seq
	q.here[seq] = true
	r.Ticket = send.Ticket{Queue: q, Seq: seq}
	text := string(r.Arg(1))
	go func() {
		runtime.Gosched()
		if !q.Withdraw(seq) {
			return
		}
		for range seq % 3 {
			runtime.Gosched()
		}
		_ = cb.Cancelled()
		cb.Resolve(text, n)
	}()
}

func (q *racingQueue) Withdraw(seq uint64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	here := q.here[seq]
	delete(q.here, seq)
	return here
}

// With many callers, the time of a request depends on how many cache lines its waiter takes.
func TestWaiterInCacheLines(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("cache lines hold more of what is smaller")
	}
	const line = 64
	assert.Equal(t, uintptr(line), unsafe.Offsetof(waiter{}.use)+unsafe.Sizeof(waiter{}.use), "what every request needs")
	assert.Equal(t, uintptr(4*line), unsafe.Sizeof(waiter{}))
	for range 8 {
		w := waiters.New().(*waiter)
		assert.Zero(t, uintptr(unsafe.Pointer(w))%line)
		assert.Zero(t, reflect.ValueOf(w.signals).Pointer()%line)
	}
}

// A recycled waiter keeps nothing of the earlier request.
func TestWaiterRecycles(t *testing.T) {
	w := pooledWaiter(context.Background(), &send.Request{}, nil, nil)
	w.res, w.target.Bytes = "result", []byte("lent")
	w.typed, w.observed, w.place.Peer = true, true, "peer"
	w.blocks, w.ctx = true, t.Context()
	w.recycle()
	assert.Nil(t, w.res)
	assert.Nil(t, w.ctx)
	assert.Zero(t, w.target)
	assert.Zero(t, w.place)
	assert.False(t, w.typed || w.observed || w.blocks)
}

// A request that is encoded into a used scratch keeps nothing of the earlier request.
func TestScratchIsSetAnew(t *testing.T) {
	var sent []send.Request
	s := &ownSender{encoded: func(r *send.Request, cb Future, n uint64) {
		sent = append(sent, *r)
		*r = send.Request{
			Cmd: "EVAL", Buf: r.Buf, Shared: 1, ReplicaSafe: true, ReadOnly: true, Typed: true,
			Deadline: time.Now(), Slot: 7, Plain: true, Caller: new(call), Done: make(chan struct{}), Observed: true,
			Inline: true, Ticket: send.Ticket{Seq: 7, Heeded: true},
		}
		cb.Resolve("OK", n)
	}}
	for range 100 {
		assert.Equal(t, "OK", Sync{s}.Do("SET", "k", "v"))
	}
	for _, r := range sent {
		require.NotNil(t, r.Caller)
		r.Caller = nil
		assert.Equal(t, send.Request{Cmd: "SET", Buf: r.Buf, Slot: send.NoSlot}, r)
	}
}
