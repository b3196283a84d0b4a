package engine

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// lane is a lone caller on the path of alone.go: it has entered a request with Send, and has both
// rights. It leaves the lane if readAlone does not finish the request.
type lane struct {
	p     *Pipe
	s     *Session
	there net.Conn
	*caller
	right send.ReadRight
	read  chan [2]bool // the results of readAlone
	left  chan bool    // the result of ReadUntil, if the caller has left the lane
}

func inLane(t *testing.T) *lane {
	t.Helper()
	for {
		p, s, there := lone(t)
		l := &lane{p: p, s: s, there: there, caller: newCaller(), read: make(chan [2]bool, 1), left: make(chan bool, 1)}
		r := &send.Request{Buf: []byte("*1\r\n$4\r\nPING\r\n"), Caller: l.caller}
		require.Nil(t, p.Send(r, l.caller, 0))
		if len(l.given) > 0 { // otherwise the loop has just taken the right to read: try again
			l.right = <-l.given
			l.given <- l.right // the caller keeps the right
			return l
		}
	}
}

// reads starts a goroutine that calls readAlone and, if that does not finish, ReadUntil.
func (l *lane) reads(ctx context.Context) {
	go func() {
		passed, finished := l.s.readAlone(ctx)
		l.read <- [2]bool{passed, finished}
		if !finished {
			l.left <- l.s.ReadUntil(ctx, l.right.Last, false)
		}
	}()
}

// asked waits until the server has received bytes of a request.
func (l *lane) asked(t *testing.T) {
	t.Helper()
	_, err := l.there.Read(make([]byte, 64))
	require.NoError(t, err)
}

// answers writes reply in place of the server.
func (l *lane) answers(t *testing.T, reply string) {
	t.Helper()
	_, err := l.there.Write([]byte(reply))
	require.NoError(t, err)
}

// abandon does what a connection does after its session has failed.
func (l *lane) abandon(unsent *errorx.Error) {
	l.p.Abandon(l.s, unsent)
	l.p.current.Store(nil)
}

// Results of readAlone.
var (
	tookReply = [2]bool{true, true}
	hasLeft   = [2]bool{false, false}
	isEnded   = [2]bool{false, true}
)

// A lone caller gets its reply, no matter in which pieces it arrives. readAlone decodes only simple
// replies that arrived whole.
func TestAloneIsAnswered(t *testing.T) {
	long := strings.Repeat("0123456789", 10_000)
	for name, c := range map[string]struct {
		first, rest string
		want        any
		read        [2]bool
	}{
		"OK":               {"+OK\r\n", "", "OK", tookReply},
		"a number":         {":42\r\n", "", int64(42), tookReply},
		"less than zero":   {":-7\r\n", "", int64(-7), hasLeft},
		"text":             {"$5\r\nhello\r\n", "", []byte("hello"), tookReply},
		"text in parts":    {"$5\r\nhe", "llo\r\n", []byte("hello"), hasLeft},
		"half a number":    {":", "7\r\n", int64(7), hasLeft},
		"more than fits":   {"$100000\r\n0", long[1:] + "\r\n", []byte(long), hasLeft},
		"nothing":          {"$-1\r\n", "", nil, hasLeft},
		"an array":         {"*2\r\n:1\r\n:2\r\n", "", []any{int64(1), int64(2)}, hasLeft},
		"another status":   {"+PONG\r\n", "", "PONG", hasLeft},
		"behind a push":    {">2\r\n+a\r\n+b\r\n+OK\r\n", "", "OK", hasLeft},
		"an error":         {"-ERR on purpose\r\n", "", redis.ErrResult, hasLeft},
		"an error in part": {"-ERR on pur", "pose\r\n", redis.ErrResult, hasLeft},
	} {
		t.Run(name, func(t *testing.T) {
			l := inLane(t)
			l.reads(context.Background())
			l.asked(t)
			l.answers(t, c.first)
			require.Equal(t, c.read, <-l.read)
			l.answers(t, c.rest)
			res := <-l.res
			if err := redis.AsErrorx(res); err != nil {
				require.Equal(t, c.want, err.Type())
			} else {
				require.Equal(t, c.want, res)
			}
			if c.read == hasLeft {
				require.True(t, <-l.left)
			}
			require.True(t, l.p.idle())
			require.False(t, l.s.hasFailed())
			stats := l.p.Stats()
			require.Zero(t, stats.InFlight+stats.Queued)
		})
	}
}

// If a lone caller's request is answered twice, it gets the first reply, and the session ends.
func TestAloneIsAnsweredTwice(t *testing.T) {
	l := inLane(t)
	l.reads(context.Background())
	l.asked(t)
	l.answers(t, "+OK\r\n+OK\r\n")
	require.Equal(t, hasLeft, <-l.read)
	require.Equal(t, "OK", <-l.res)
	<-l.left
	<-l.s.failed
	require.True(t, l.s.Err().IsOfType(redis.ErrResponseUnexpected), "%v", l.s.Err())
	l.abandon(redis.ErrIO.New("unsent"))
}

// If the socket is lost before a request is written, the request is not sent. If it is lost later,
// the request may have run.
func TestAloneLosesItsSocket(t *testing.T) {
	unsent := redis.ErrContextClosed.New("unsent")
	for name, c := range map[string]struct {
		before, after func(l *lane)
		sent          bool
	}{
		"closed before": {before: func(l *lane) { l.there.Close() }},
		"something has come before": {before: func(l *lane) {
			l.answers(t, "+OK\r\n")
		}},
		"closed after": {after: func(l *lane) { l.there.Close() }, sent: true},
		"closed in the reply": {after: func(l *lane) {
			l.answers(t, "$5\r\nhe")
			l.there.Close()
		}, sent: true},
	} {
		t.Run(name, func(t *testing.T) {
			l := inLane(t)
			if c.before != nil {
				c.before(l)
				require.Eventually(t, func() bool { return l.s.checker.Check() != nil }, 10*time.Second, time.Millisecond)
			}
			l.reads(context.Background())
			if c.after != nil {
				l.asked(t)
				c.after(l)
			}
			<-l.s.failed
			require.Equal(t, hasLeft, <-l.read)
			<-l.left
			l.abandon(unsent)
			err := redis.AsErrorx(<-l.res)
			require.Equal(t, !c.sent, err.IsOfType(redis.ErrContextClosed), "%v", err)
			require.Equal(t, c.sent, err.IsOfType(redis.ErrIO), "%v", err)
		})
	}
}

// When the context of a lone caller ends, its request has been written, and the loop reads the
// reply.
func TestAloneIsCancelled(t *testing.T) {
	for name, early := range map[string]bool{"before it writes": true, "while it waits": false} {
		t.Run(name, func(t *testing.T) {
			l := inLane(t)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if early {
				cancel()
			}
			l.reads(ctx)
			l.asked(t)
			cancel()
			require.Equal(t, isEnded, <-l.read)
			l.gone.Store(true)
			l.right.Reader.PassRead()
			l.answers(t, "+OK\r\n")
			require.Equal(t, "OK", <-l.res)
			require.False(t, l.s.hasFailed())
		})
	}
}

// If another request enters while a lone caller waits, readAlone still decodes the caller's own
// reply. Then the caller of the other request reads.
func TestAloneIsJoined(t *testing.T) {
	l := inLane(t)
	l.reads(context.Background())
	l.asked(t)
	next := newCaller()
	next.enter(t, l.p)
	l.asked(t)
	l.answers(t, "+OK\r\n")
	require.Equal(t, tookReply, <-l.read)
	require.Equal(t, "OK", <-l.res)
	right := <-next.given
	next.given <- right
	l.answers(t, ":2\r\n")
	require.True(t, right.Reader.ReadUntil(context.Background(), right.Last, false))
	require.Equal(t, int64(2), <-next.res)
	require.True(t, l.p.idle())
}

// While a heartbeat is unanswered, the heartbeat's echo may arrive in place of the reply. readAlone
// does not check for that, so ReadUntil reads instead.
func TestAloneWithHeartbeat(t *testing.T) {
	l := inLane(t)
	l.s.beats.waiting.Store(true)
	l.reads(context.Background())
	l.asked(t)
	l.answers(t, "+OK\r\n")
	require.Equal(t, hasLeft, <-l.read)
	require.Equal(t, "OK", <-l.res)
	require.True(t, <-l.left)
}

// enterAlone enters only ordinary requests of lone callers. For any other request it changes
// nothing.
func TestWhoEntersAlone(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, change := range map[string]func(*queue, *send.Request){
		"nobody waits":        func(_ *queue, r *send.Request) { r.Caller = nil },
		"ASKING":              func(_ *queue, r *send.Request) { r.Asking = true },
		"too large":           func(q *queue, r *send.Request) { q.maxBytes = len(r.Buf) - 1 },
		"others":              func(q *queue, _ *send.Request) { q.concurrency = 2 },
		"somebody reads":      func(q *queue, _ *send.Request) { q.reading = readLoop },
		"the logger counts":   func(q *queue, _ *send.Request) { q.opts.Stat = func(*send.Request) *timing.Stat { return nil } },
		"a script":            func(q *queue, _ *send.Request) { q.opts.Script = true },
		"draining":            func(q *queue, _ *send.Request) { q.draining = make(chan struct{}) },
		"writes are stopped":  func(q *queue, _ *send.Request) { q.withheld.Store(true) },
		"others have room":    func(q *queue, _ *send.Request) { q.admitted.Store(true) },
		"the context ended":   func(q *queue, _ *send.Request) { q.opts.Ctx = ended },
		"no socket":           func(q *queue, _ *send.Request) { q.session = nil },
		"it can't be checked": func(q *queue, _ *send.Request) { q.session = &Session{} },
	} {
		t.Run(name, func(t *testing.T) {
			q := newQueue(Opts{Ctx: context.Background(), MaxRequests: 1, MaxBytes: 100})
			q.state, q.session = Connected, &Session{mayExchange: true}
			r := &send.Request{Buf: []byte("*1\r\n$4\r\nPING\r\n"), Caller: newCaller()}
			change(q, r)
			_, d, entered := q.enterAlone(r, forget, 0)
			require.False(t, entered)
			require.Zero(t, d)
			require.Zero(t, r.Ticket)
			require.Zero(t, q.pending)
			require.Zero(t, q.seq)
		})
	}
}
