package redis

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/lab/virtualtime"
	"github.com/joomcode/redispipe/internal/send"
)

// heldReads is a sender that holds each read until the test answers it. It answers other requests at once.
type heldReads struct {
	ownSender
	mu   sync.Mutex // guards held
	held []Future
}

func newHeldReads() *heldReads {
	h := &heldReads{}
	h.encoded = func(r *send.Request, cb Future, n uint64) {
		if !r.Is("GET") && !r.Is("MGET") {
			cb.Resolve("OK", n)
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.held = append(h.held, cb)
	}
	return h
}

func (h *heldReads) Send(r Request, cb Future, n uint64) {
	var encoded send.Request
	buf, _ := AppendRequest(nil, r)
	encoded.Encoded(r.Cmd, r.Args, buf, false)
	h.encoded(&encoded, cb, n)
}

func (*heldReads) SendMany(reqs []Request, cb Future, start uint64) {
	for i := range reqs {
		send.Resolve(cb, "OK", start+uint64(i))
	}
}

func (*heldReads) SendTransaction(reqs []Request, cb Future, start uint64) {
	cb.Resolve(make([]any, len(reqs)), start)
}

func (h *heldReads) EachShard(f func(Sender, error) bool) { f(h, nil) }

func (h *heldReads) OpenDedicated(context.Context, []string, error) (send.Dedicated, error) {
	return okConn{}, nil
}

// sent returns how many reads were sent.
func (h *heldReads) sent() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.held)
}

// answer answers read i.
func (h *heldReads) answer(i int, res any) {
	h.mu.Lock()
	cb := h.held[i]
	h.mu.Unlock()
	cb.Resolve(res, 0)
}

// okConn is the connection of a session. It answers OK to every request.
type okConn struct{}

func (okConn) Exchange(_ context.Context, reqs []send.Request, each func(int, any)) error {
	for i := range reqs {
		each(i, "OK")
	}
	return nil
}
func (okConn) Server() send.Server { return send.Server{} }
func (okConn) Release()            {}

// Identical reads that are under way at the same time share one request, and each caller owns its
// reply.
func TestJoin(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		h := newHeldReads()
		seen := &recording{}
		s := SyncCtx{WithRetry(WithJoin(WithRetry(WithHook(h, seen), RetryOpts{})), RetryOpts{})}
		const callers = 200
		var group sync.WaitGroup
		for i := range callers {
			group.Go(func() {
				switch i % 4 {
				case 0:
					res := s.Do(t.Context(), "GET", "7").([]byte)
					assert.Equal(t, "7", string(res))
					res[0] = 'x'
				case 1:
					var text string
					assert.NoError(t, s.DoInto(t.Context(), &text, "GET", "7"))
					assert.Equal(t, "7", text)
				case 2:
					n, err := DoAs[int64](t.Context(), s.S, "GET", "7")
					assert.NoError(t, err)
					assert.Equal(t, int64(7), n)
				case 3:
					res := ChanFutured(s).Send(Req("GET", "7")).Value().([]byte)
					assert.Equal(t, "7", string(res))
					res[0] = 'y'
				}
			})
		}
		synctest.Wait()
		require.Equal(t, 1, h.sent())
		h.answer(0, []byte("7"))
		group.Wait()
		for range 2 {
			group.Go(func() {
				list := s.Do(t.Context(), "MGET", "a", "b").([]any)
				assert.Equal(t, []any{[]byte("1"), nil}, list)
				list[0].([]byte)[0], list[1] = 'x', 1
			})
		}
		synctest.Wait()
		require.Equal(t, 2, h.sent(), "what was answered is not joined")
		h.answer(1, []any{[]byte("1"), nil})
		group.Wait()
	})
}

// A read that begins after a write of this program was sent or answered shares no request that
// began before.
func TestJoinAfterWrites(t *testing.T) {
	for name, write := range map[string]func(s Sender){
		"Do":          func(s Sender) { Sync{s}.Do("SET", "k", 1) },
		"several":     func(s Sender) { Sync{s}.Do("MSET", "a", 1, "k", 2) },
		"batch":       func(s Sender) { Sync{s}.SendMany([]Request{Req("PING"), Req("INCR", "k")}) },
		"transaction": func(s Sender) { _, _ = Sync{s}.SendTransaction([]Request{Req("INCR", "k")}) },
		"script":      func(s Sender) { Sync{s}.Do("EVAL", "redis.call('DEL', 'k')", 0) },
		"all":         func(s Sender) { Sync{s}.Do("FLUSHALL") },
		"unknown":     func(s Sender) { Sync{s}.Do("SOME.COMMAND") },
		"dropped":     func(s Sender) { s.Send(Req("DEL", "k"), FuncFuture(func(any, uint64) {}), 0) },
		"shard": func(s Sender) {
			s.EachShard(func(shard Sender, _ error) bool { Sync{shard}.Do("SET", "k", 1); return true })
		},
		"session": func(s Sender) {
			_ = WithSession(context.Background(), s, "", func(s *Session) error { return Err(s.Do("DEL", "k")) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			virtualtime.Run(t, func(t *testing.T) {
				h := newHeldReads()
				s := WithJoin(h)
				read := func() { s.Send(Req("GET", "k"), FuncFuture(func(any, uint64) {}), 0) }
				read()
				read()
				require.Equal(t, 1, h.sent())
				write(s)
				read()
				read()
				require.Equal(t, 2, h.sent())
				h.answer(0, nil)
				read()
				require.Equal(t, 2, h.sent(), "the end of an older read leaves the later one")
				h.answer(1, nil)
			})
		})
	}
}

// A read that begins between the sending of a write and its answer may return the old or the new
// value.
func TestJoinAroundWrite(t *testing.T) {
	h := newHeldReads()
	s := WithJoin(h)
	var written Future
	answered := h.encoded
	h.encoded = func(r *send.Request, cb Future, n uint64) {
		if r.Is("SET") {
			written = cb
			return
		}
		answered(r, cb, n)
	}
	read := func() { s.Send(Req("GET", "k"), FuncFuture(func(any, uint64) {}), 0) }
	read()
	s.Send(Req("SET", "k", 1), FuncFuture(func(any, uint64) { read() }), 0)
	read()
	require.Equal(t, 2, h.sent(), "it is behind the write, as if it were sent by itself")
	written.Resolve("OK", 0)
	require.Equal(t, 3, h.sent(), "it was sent after the answer")
}

// A caller that leaves does not disturb the others. If all callers have left, the request ends, and
// no further caller shares it.
func TestJoinLeaves(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		h := newHeldReads()
		s := SyncCtx{WithJoin(h)}
		var group sync.WaitGroup
		var left atomic.Int64
		for i := range 10 {
			group.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i+1)*time.Second)
				defer cancel()
				res := s.Do(ctx, "GET", "k")
				if err := AsErrorx(res); err != nil {
					assertType(t, ErrRequestCancelled, err)
					left.Add(1)
					return
				}
				assert.Equal(t, []byte("v"), res)
			})
		}
		time.Sleep(5*time.Second + time.Millisecond)
		require.Equal(t, 1, h.sent())
		require.NoError(t, h.held[0].Cancelled())
		h.answer(0, []byte("v"))
		group.Wait()
		require.EqualValues(t, 5, left.Load())

		for range 3 {
			group.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				assert.Error(t, Err(s.Do(ctx, "GET", "k")))
			})
		}
		group.Wait()
		require.Error(t, h.held[1].Cancelled())
		s.S.Send(Req("GET", "k"), FuncFuture(func(any, uint64) {}), 0)
		require.Equal(t, 3, h.sent())
		h.answer(1, errs.ErrRequestCancelled.New("nobody waits"))
		h.answer(2, nil)
	})
}

// No caller shares a request that began long ago: the server may have stopped while another one
// answers.
func TestJoinNothingOld(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		h := newHeldReads()
		s := WithJoin(h)
		read := func() { s.Send(Req("GET", "k"), FuncFuture(func(any, uint64) {}), 0) }
		read()
		time.Sleep(100*time.Millisecond - 1)
		read()
		require.Equal(t, 1, h.sent())
		time.Sleep(time.Nanosecond)
		read()
		require.Equal(t, 2, h.sent())
		read()
		require.Equal(t, 2, h.sent())
	})
}

// located is a future that wants to know the server.
type located struct {
	lastPlace
	FuncFuture
}

func (*located) Observes() bool { return true }

// A caller that wants to know the server that has answered shares only a read that records it. Others share any read.
func TestJoinObserves(t *testing.T) {
	h := newHeldReads()
	s := WithJoin(h)
	answered := 0
	done := FuncFuture(func(any, uint64) { answered++ })
	first, second := &located{FuncFuture: done}, &located{FuncFuture: done}
	for _, cb := range []Future{done, done, first, done, second} {
		s.Send(Req("GET", "k"), cb, 0)
	}
	require.Equal(t, 2, h.sent())
	require.False(t, send.Observes(h.held[0]))
	require.True(t, send.Observes(h.held[1]))
	h.answer(0, nil)
	require.Equal(t, 2, answered)
	send.AnsweredBy(h.held[1], send.Server{Address: "a"})
	h.answer(1, nil)
	require.Equal(t, 5, answered)
	require.Equal(t, "a", first.last().Address)
	require.Equal(t, "a", second.last().Address)
}

// Reads that depend on more than their keys are never shared. If a shared request fails, all of its
// callers get the error.
func TestJoinOfOthers(t *testing.T) {
	for _, req := range []Request{
		Req("SRANDMEMBER", "k"), Req("EVAL_RO", "return 1", 1, "k"), Req("SORT_RO", "k", "BY", "w_*"), Req("KEYS", "*"),
		Req("XREAD", "BLOCK", 0, "STREAMS", "k", "$"), Req("GET k"), Req("PING"), Req("SOME.COMMAND", "k"), Req("GET"),
	} {
		h, sent := newHeldReads(), 0
		h.encoded = func(*send.Request, Future, uint64) { sent++ }
		s := WithJoin(h)
		for range 3 {
			s.Send(req, FuncFuture(func(any, uint64) {}), 0)
		}
		assert.Equal(t, 3, sent, req.Cmd)
	}
	h := newHeldReads()
	s := WithJoin(h)
	var got []any
	for range 3 {
		s.Send(Req("GET", "k"), FuncFuture(func(res any, _ uint64) { got = append(got, res) }), 0)
	}
	s.Send(Req("GET", "k"), nil, 0)
	require.Equal(t, 2, h.sent(), "nobody waits for the last one")
	h.answer(0, errs.ErrIO.New("lost"))
	require.Equal(t, 3, len(slices.DeleteFunc(got, func(res any) bool { return !AsErrorx(res).IsOfType(ErrIO) })))
}
