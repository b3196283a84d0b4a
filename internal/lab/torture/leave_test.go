package torture

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// leaves returns how many callers leave: TORTURE_LEAVES or, if it is not set, n.
func leaves(n int) int64 {
	if set, err := strconv.ParseInt(os.Getenv("TORTURE_LEAVES"), 10, 64); err == nil {
		return set
	}
	return int64(n)
}

// leavers are callers. Each uses one context after the other.
type leavers struct {
	ends        []context.CancelFunc // end the current contexts of the callers
	calls, left atomic.Int64
}

func newLeavers(callers int) *leavers { return &leavers{ends: make([]context.CancelFunc, callers)} }

// run calls call in many goroutines until enough callers have left. Each call gets an ID, which it
// must return.
func (l *leavers) run(t *testing.T, leaves int64, call func(ctx context.Context, id int64) (any, error)) {
	var wg sync.WaitGroup
	for i := range l.ends {
		wg.Go(func() {
			for id := int64(i); l.left.Load() < leaves && !t.Failed(); id += int64(len(l.ends)) {
				ctx, end := context.WithCancel(context.Background())
				l.ends[i] = end
				got, err := call(ctx, id)
				end()
				l.calls.Add(1)
				switch e := redis.AsErrorx(err); {
				case err == nil && got != any(id):
					t.Errorf("%d got %T %v", id, got, got)
				case err == nil:
				case e.IsOfType(redis.ErrRequestCancelled), e.IsOfType(redis.ErrRequestWithdrawn):
					l.left.Add(1)
				default:
					t.Errorf("%d: %v", id, e)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d calls, %d left", l.calls.Load(), l.left.Load())
}

// endOf returns the function that ends the context of the caller that sends id.
func (l *leavers) endOf(id int64) context.CancelFunc { return l.ends[id%int64(len(l.ends))] }

// T30: callers leave at the moment when they get their results or the right to read. No caller gets
// another caller's value.
func TestT30CallersLeave(t *testing.T) {
	drill.Rotate(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	l := newLeavers(16)
	s := &leaving{endOf: l.endOf, work: make(chan leavingCall, len(l.ends))}
	var resolvers sync.WaitGroup
	for range 4 {
		resolvers.Go(s.resolve)
	}
	l.run(t, leaves(long(1_000_000, 50_000)), func(ctx context.Context, id int64) (any, error) {
		res := redis.SyncCtx{S: s}.Do(ctx, "ECHO", id)
		return res, redis.AsError(res)
	})
	close(s.work)
	resolvers.Wait()
}

// leaving is a connection that resolves each request with its own argument, and at the same time
// ends the context of its caller.
type leaving struct {
	redis.Sender // nil; only SendEncoded is called
	endOf        func(id int64) context.CancelFunc
	work         chan leavingCall
}

type leavingCall struct {
	cb     redis.Future
	caller send.Caller
	id     int64
	end    context.CancelFunc
}

func (s *leaving) WantsSlot() bool { return false }

func (s *leaving) OpenDedicated(context.Context, []string, error) (send.Dedicated, error) {
	return nil, errors.New("it has no sessions")
}

func (s *leaving) SendEncoded(r *send.Request, cb redis.Future, _ uint64) {
	id, err := strconv.ParseInt(string(bytes.Split(r.Buf, []byte("\r\n"))[4]), 10, 64)
	if err != nil {
		panic(err)
	}
	r.Ticket.Tells = r.Done != nil
	s.work <- leavingCall{cb, r.Caller, id, s.endOf(id)}
}

// resolve is a goroutine that ends when there is no more work.
func (s *leaving) resolve() {
	for c := range s.work {
		switch rand.IntN(8) {
		case 0:
			c.cb.Resolve(c.id, 0)
			c.end()
			continue
		case 1:
			send.CallerOf(c.cb).GiveRead(send.ReadRight{Reader: silent{}, Last: 1})
		}
		if rand.IntN(2) == 0 {
			c.caller.Listen()
		}
		c.end()
		runtime.Gosched() // the caller runs while this goroutine continues in another thread
		for range rand.IntN(200) {
			runtime.KeepAlive(c)
		}
		c.cb.Resolve(c.id, 0)
		if rand.IntN(2) == 0 {
			c.caller.Listen() // the caller may have begun another request
		}
	}
}

// silent is a connection on which nothing arrives.
type silent struct{}

func (silent) PassRead() {}
func (silent) ReadUntil(ctx context.Context, _ uint64, _ bool) (passed bool) {
	<-ctx.Done()
	return false
}

// T30 on a connection, with values that are decoded in the read buffer, and with batches.
func TestT30CallersLeaveAConnection(t *testing.T) { leaveAConnection(t, 16, 100*time.Microsecond) }

// T30 on a connection with so many callers that the reader goroutine reads.
func TestT30ACrowdLeavesAConnection(t *testing.T) {
	leaveAConnection(t, 500, 10*time.Millisecond)
}

// leaveAConnection uses contexts that last up to most.
func leaveAConnection(t *testing.T, callers int, most time.Duration) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	server := testbed.NewServer(t)
	opts := untimed()
	opts.Logger = redisconn.NoopLogger{}
	conn, err := redisconn.Connect(t.Context(), server.Addr(), opts)
	require.NoError(t, err)
	defer conn.Close()
	s := redis.SyncCtx{S: conn}
	l := newLeavers(callers)
	l.run(t, leaves(long(100_000, 10_000)), func(ctx context.Context, id int64) (any, error) {
		timer := time.AfterFunc(rand.N(most), l.endOf(id))
		defer timer.Stop()
		switch id / int64(callers) % 3 {
		case 0:
			var got int64
			err := s.DoInto(ctx, &got, "ECHO", id)
			return got, err
		case 1:
			var got []byte
			if err := s.DoInto(ctx, &got, "ECHO", id); err != nil {
				return nil, err
			}
			return strconv.ParseInt(string(got), 10, 64)
		default:
			got := s.SendMany(ctx, []redis.Request{redis.Req("ECHO", id), redis.Req("ECHO", -id)})
			if err := redis.AsError(got[1]); err != nil {
				return nil, err
			}
			return redis.As[int64](got[0])
		}
	})
}
