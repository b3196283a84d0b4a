package engine_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// storm sends requests of all kinds to a server that closes the connection after any byte.
type storm struct {
	t       *testing.T
	conn    *redisconn.Connection
	sent    atomic.Uint64
	pending sync.WaitGroup // requests whose futures are not resolved yet
}

// enteringContext is a context that has not ended when it is first asked, so each request enters
// and is counted.
type enteringContext struct {
	context.Context
	asked atomic.Bool
}

func (c *enteringContext) Err() error {
	if !c.asked.Swap(true) {
		return nil
	}
	return c.Context.Err()
}

// stormFuture is the future of a batch of echo requests.
type stormFuture struct {
	s                *storm
	reqs             []redis.Request
	resolved         []atomic.Bool
	asked, cancelled atomic.Bool
	habit            int
}

// Cancelled implements redis.Future. It returns nil when the request enters.
func (f *stormFuture) Cancelled() error {
	if !f.asked.Swap(true) || !f.cancelled.Load() {
		return nil
	}
	switch f.habit {
	case 1:
		panic("on purpose")
	case 2:
		runtime.Goexit()
	}
	return context.Canceled
}

// Resolve implements redis.Future.
func (f *stormFuture) Resolve(res any, n uint64) {
	if f.resolved[n].Swap(true) {
		f.s.t.Errorf("resolved twice: %v", res)
	}
	defer f.s.pending.Done()
	f.s.judge(f.reqs[n].Args[0], res)
	_, failed := res.(error)
	switch f.habit {
	case 1:
		panic("on purpose")
	case 2:
		runtime.Goexit()
	case 3:
		time.Sleep(rand.N(time.Millisecond))
	case 4:
		if !failed {
			next := f.s.future(1)
			f.s.conn.Send(next.reqs[0], next, 0)
		}
	}
}

func (s *storm) future(n int) *stormFuture {
	f := &stormFuture{s: s, resolved: make([]atomic.Bool, n), reqs: s.echoes(n)}
	if rand.IntN(8) == 0 {
		f.habit = rand.IntN(5)
	}
	f.cancelled.Store(rand.IntN(6) == 0)
	s.pending.Add(n)
	return f
}

// echoes returns n requests that nobody else sends, and counts them.
func (s *storm) echoes(n int) (reqs []redis.Request) {
	s.sent.Add(uint64(n))
	for range n {
		size := 0
		if rand.IntN(40) == 0 {
			size = rand.IntN(200 << 10)
		}
		reqs = append(reqs, redis.Req("ECHO", fmt.Sprint(rand.Uint64())+strings.Repeat("x", size)))
	}
	return reqs
}

func (s *storm) judge(id, res any) {
	if got, ok := res.([]byte); ok && string(got) != id {
		s.t.Errorf("%.40q is the answer to %.40q", got, id)
	}
}

// send sends one or several requests, in a random way.
func (s *storm) send() {
	ctx, cancel := context.WithTimeout(background, rand.N(4*time.Millisecond))
	defer cancel()
	if rand.IntN(2) == 0 {
		ctx = background
	}
	entering, sync := &enteringContext{Context: ctx}, redis.SyncCtx{S: s.conn}
	switch rand.IntN(7) {
	case 0:
		req := s.echoes(1)[0]
		s.judge(req.Args[0], sync.Send(entering, req))
	case 1:
		req := s.echoes(1)[0]
		if got, err := redis.As[string](sync.Do(entering, req.Cmd, req.Args...)); err == nil {
			s.judge(req.Args[0], []byte(got))
		}
	case 2:
		reqs := s.echoes(3)
		for i, res := range sync.SendMany(entering, reqs) {
			s.judge(reqs[i].Args[0], res)
		}
	case 3:
		reqs := s.echoes(3)
		results, _ := sync.SendTransaction(entering, reqs)
		for i, res := range results {
			s.judge(reqs[i].Args[0], res)
		}
	case 4:
		f := s.future(1)
		s.conn.SendAsk(f.reqs[0], f, 0, true)
	case 5:
		f := s.future(1 + rand.IntN(30))
		s.conn.SendMany(f.reqs, f, 0)
	case 6:
		s.sent.Add(1)
		sync.Do(entering, "FAIL")
	}
}

// stormHandler answers all requests of a storm, and sometimes closes the connection within a reply.
func stormHandler() chaos.ScriptedHandler {
	var mu sync.Mutex                // guards transactions
	transactions := map[int]string{} // by connection, the answer to EXEC
	sizes := map[int]int{}
	answer := func(r chaos.ScriptedRequest) string {
		mu.Lock()
		defer mu.Unlock()
		results, within := transactions[r.Conn]
		switch {
		case r.Cmd == "FAIL":
			return "-ERR no\r\n"
		case r.Cmd == "MULTI":
			transactions[r.Conn], sizes[r.Conn] = "", 0
			return "+OK\r\n"
		case r.Cmd == "EXEC":
			delete(transactions, r.Conn)
			return fmt.Sprintf("*%d\r\n%s", sizes[r.Conn], results)
		case r.Cmd != "ECHO":
			return "+OK\r\n"
		case within:
			transactions[r.Conn] = results + chaos.ScriptedBulk(r.Args[0])
			sizes[r.Conn]++
			return "+QUEUED\r\n"
		}
		return chaos.ScriptedBulk(r.Args[0])
	}
	return func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		reply := answer(r)
		switch rand.IntN(300) {
		case 0:
			return io.EOF
		case 1:
			_, _ = io.WriteString(c, reply[:rand.IntN(len(reply))])
			return io.EOF
		case 2:
			c.Reset()
		case 3:
			reply = "!nonsense\r\n"
		}
		_, err := io.WriteString(c, reply)
		return err
	}
}

// Sessions break at random. Each request is resolved once, with its own answer, and counted once.
// No goroutine is left.
func TestStormAddsUp(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]redisconn.Opts{
		"plain": {}, "Integrity": {Integrity: true}, "ScriptMode": {ScriptMode: true}, "RESP3": {Protocol: 3},
		"WritePause": {WritePause: -1},
	} {
		t.Run(name, func(t *testing.T) {
			drill.Rotate(t)
			t.Parallel()
			opts.Logger, opts.IOTimeout, opts.ReconnectPause = redisconn.NoopLogger{}, time.Minute, time.Millisecond
			server := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: stormHandler()})
			s := &storm{t: t, conn: connect(t, server.Addr(), opts)}
			for _, goroutines := range []int{1, 2, 5, 40, 3} {
				var senders sync.WaitGroup
				for range goroutines {
					senders.Go(func() { send.Each(0, 40, func(int) { s.send() }) }) // a future may end the goroutine
				}
				senders.Wait()
				s.pending.Wait()
				eventually(t, "all is counted", func() bool { return s.conn.Stats().Requests() >= s.sent.Load() })
				stats := s.conn.Stats()
				require.Equal(t, s.sent.Load(), stats.Requests())
				require.Zero(t, stats.QueuedBytes+stats.WaitingForRoom)
				eventually(t, "nothing is pending", func() bool { return s.conn.Pending() == 0 })
			}
		})
	}
}
