package engine

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
)

// forget is a future that discards its result.
var forget = redis.FuncFuture(func(any, uint64) {})

// encoded returns one request, encoded as bytes.
func encoded(bytes string) []*send.Request { return []*send.Request{{Buf: []byte(bytes)}} }

// testPipe returns a pipe without a socket.
func testPipe() *Pipe {
	p := New(Opts{
		Ctx: context.Background(), MaxRequests: 100, MaxBytes: 1 << 20,
		Timeout: time.Minute, Silence: time.Minute,
		WithConn: func(err *errorx.Error) *errorx.Error { return err },
		Server:   func() send.Server { return send.Server{} },
		Measured: func(time.Duration) {},
		Trip:     func() time.Duration { return 0 },
		Panicked: func(any, []byte) {},
	})
	p.Change(Connecting, nil, nil)
	return p
}

// pipeSession begins a session on one end of a connection, and returns the other end.
func pipeSession(t *testing.T, p *Pipe) (*Session, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	here, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	there, err := l.Accept()
	require.NoError(t, err)
	s := p.Start(sock.New(here, redis.Limits{}))
	t.Cleanup(func() {
		there.Close()
		s.fail(redis.ErrIO.New("the test is over"))
		if p.Session() == s {
			p.Abandon(s, redis.ErrContextClosed.New("the test is over"))
		}
	})
	return s, there
}

// The lifecycle may begin the next session as soon as it sees that a session has failed. So the
// queue must have been told of the failure by then, and only once.
func TestSessionTellsBeforeItHasFailed(t *testing.T) {
	p := testPipe()
	for range 100 {
		s, _ := pipeSession(t, p)
		require.Equal(t, Connected, p.queue.State())
		go s.fail(redis.ErrIO.New("on purpose"))
		<-s.failed
		require.Equal(t, Disconnected, p.queue.State())
		require.ErrorContains(t, s.Err(), "on purpose")
		p.Abandon(s, redis.ErrIO.New("unsent"))

		next, _ := pipeSession(t, p)
		s.fail(redis.ErrIO.New("again"))
		require.Equal(t, Connected, p.queue.State(), "only once")
		require.ErrorContains(t, s.Err(), "on purpose")
		next.fail(redis.ErrIO.New("on purpose"))
		p.Abandon(next, redis.ErrIO.New("unsent"))
		p.current.Store(nil)
	}
}

// If the server has closed the socket already, the session's state changes to connected, and only
// then to disconnected.
func TestSessionThatFailsAtOnce(t *testing.T) {
	p := testPipe()
	for range 1000 {
		here, there := net.Pipe()
		require.NoError(t, there.Close())
		s := p.Start(sock.New(here, redis.Limits{}))
		<-s.failed
		require.Equal(t, Disconnected, p.queue.State())
		p.Abandon(s, redis.ErrIO.New("unsent"))
		p.current.Store(nil)
		p.queue.Change(Connecting, nil, nil)
	}
}

// caller waits for one result. given gets the right to read when the caller gets it.
type caller struct {
	given chan send.ReadRight
	res   chan any
	gone  atomic.Bool
	done  chan struct{} // not nil if the caller is deaf
	told  chan struct{}
}

func newCaller() *caller {
	return &caller{given: make(chan send.ReadRight, 1), res: make(chan any, 1), told: make(chan struct{}, 1)}
}

func (c *caller) Caller() send.Caller       { return c }
func (c *caller) Cancelled() error          { return nil }
func (c *caller) Resolve(res any, _ uint64) { c.res <- res }
func (c *caller) Touch() int                { return 0 }
func (c *caller) Waits() bool               { return true }
func (c *caller) Listen() bool {
	if c.gone.Load() || len(c.given) > 0 {
		return false
	}
	c.told <- struct{}{}
	return true
}
func (c *caller) GiveRead(r send.ReadRight) bool {
	if c.gone.Load() || len(c.given) > 0 {
		return false
	}
	c.given <- r
	return true
}

// enter enters a request of caller c.
func (c *caller) enter(t *testing.T, p *Pipe) send.Ticket {
	t.Helper()
	reqs := encoded("*1\r\n$4\r\nPING\r\n")
	reqs[0].Caller, reqs[0].Done = c, c.done
	refused := p.Enter(reqs, &Entry{Future: c})
	require.Nil(t, refused)
	return reqs[0].Ticket
}

// lone returns a session in which nobody has the right to read, so the next caller gets both
// rights.
func lone(t *testing.T) (*Pipe, *Session, net.Conn) {
	t.Helper()
	p := testPipe()
	s, there := pipeSession(t, p)
	for {
		c := newCaller()
		c.enter(t, p)
		answered := make(chan struct{})
		go func() { // the right may come when the request enters, or when the loop passes it on
			select {
			case r := <-c.given:
				c.given <- r // the caller keeps the right
				r.Reader.ReadUntil(context.Background(), r.Last, false)
			case <-answered:
			}
		}()
		_, err := there.Read(make([]byte, 64))
		require.NoError(t, err)
		_, err = there.Write([]byte("+PONG\r\n"))
		require.NoError(t, err)
		<-c.res
		close(answered)
		if len(c.given) > 0 {
			require.Eventually(t, p.queue.idle, 10*time.Second, time.Millisecond)
			return p, s, there
		}
	}
}

// If a caller with both rights has not begun to write its batch, the batch is taken back when the
// caller leaves or when writes stop. Nothing of it is written.
func TestFirstIsTakenBack(t *testing.T) {
	for name, back := range map[string]func(*Pipe, send.Ticket) bool{
		"withdrawn": func(_ *Pipe, ticket send.Ticket) bool { return ticket.Withdraw() },
		"stopped": func(p *Pipe, _ send.Ticket) bool {
			p.StopWrites(sock.Closed(t.Context()))
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			for {
				p, s, there := lone(t)
				c := newCaller()
				ticket := c.enter(t, p)
				if len(c.given) == 0 { // the loop has just taken the right to read: try again
					continue
				}
				before := p.queue.Stats()
				require.True(t, back(p, ticket))
				(<-c.given).Reader.PassRead()
				after := p.queue.Stats()
				require.Zero(t, after.InFlight+after.Queued)
				require.Equal(t, before.Writes-1, after.Writes)
				require.EqualValues(t, 1, after.NotSent)
				require.False(t, s.hasFailed())
				_ = there.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
				n, _ := there.Read(make([]byte, 64))
				require.Zero(t, n)
				return
			}
		})
	}
}

// The delay of a request counts the answer from its first byte on, even if the caller leaves before
// the rest has come.
func TestAnswerBeginsWithItsFirstByte(t *testing.T) {
	for {
		p, _, there := lone(t)
		c := newCaller()
		ticket := c.enter(t, p)
		if len(c.given) == 0 {
			continue
		}
		r := <-c.given
		ctx, cancel := context.WithCancel(context.Background())
		left := make(chan bool)
		go func() { left <- r.Reader.ReadUntil(ctx, r.Last, false) }()
		_, err := there.Read(make([]byte, 64))
		require.NoError(t, err)
		_, err = there.Write([]byte("$5\r\nhe"))
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			d, ok := ticket.Queue.(*queue).Delay(ticket.Seq)
			return ok && d.Reading > 0
		}, 10*time.Second, time.Millisecond)
		cancel()
		require.False(t, <-left)
		c.gone.Store(true)
		r.Reader.PassRead()
		_, err = there.Write([]byte("llo\r\n"))
		require.NoError(t, err)
		require.Equal(t, []byte("hello"), <-c.res)
		return
	}
}

// A deaf caller that reads is told to listen to its context after it has read for long, no matter
// how much of its reply has arrived. The session continues.
func TestDeafReaderIsTold(t *testing.T) {
	for name, begun := range map[string]string{"nothing has come": "", "its reply has begun": "$5\r\nhe"} {
		t.Run(name, func(t *testing.T) {
			for {
				p, s, there := lone(t)
				c := newCaller()
				c.done = make(chan struct{})
				ticket := c.enter(t, p)
				if len(c.given) == 0 { // the loop has just taken the right to read: try again
					continue
				}
				if !ticket.Tells { // round trips were so slow that the caller is not deaf
					(<-c.given).Reader.PassRead()
					continue
				}
				r := c.given
				ctx, cancel := context.WithCancel(context.Background())
				left := make(chan bool)
				right := <-r
				c.given <- right // the caller begins to read
				go func() { left <- right.Reader.ReadUntil(ctx, right.Last, true) }()
				_, err := there.Read(make([]byte, 64))
				require.NoError(t, err)
				_, err = there.Write([]byte(begun))
				require.NoError(t, err)
				cancel()
				require.False(t, <-left)
				c.gone.Store(true)
				<-c.given
				right.Reader.PassRead()
				_, err = there.Write([]byte("$5\r\nhello\r\n"[len(begun):]))
				require.NoError(t, err)
				require.Equal(t, []byte("hello"), <-c.res)
				require.False(t, s.hasFailed())
				return
			}
		})
	}
}

// A deaf caller that waits while another one reads is told to listen. When the session fails, all
// other deaf callers are told.
func TestDeafCallersAreTold(t *testing.T) {
	for {
		p, s, _ := lone(t)
		reader, other := newCaller(), newCaller()
		reader.done, other.done = make(chan struct{}), make(chan struct{})
		reader.enter(t, p)
		if len(reader.given) == 0 { // the loop has just taken the right to read: try again
			continue
		}
		r := <-reader.given
		reader.given <- r // the caller keeps the right
		go r.Reader.ReadUntil(context.Background(), r.Last, true)
		if ticket := other.enter(t, p); !ticket.Tells { // round trips were so slow that the caller is not deaf
			continue
		}
		<-other.told
		s.fail(redis.ErrIO.New("on purpose"))
		p.Abandon(s, redis.ErrIO.New("unsent"))
		p.current.Store(nil)
		<-other.told
		<-other.res
		return
	}
}
