package dedicated

import (
	"context"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// Session is the connection of a redis.Session. It implements send.Dedicated. One goroutine at a
// time may use it.
type Session struct {
	p      *Pool
	c      *Conn
	opened string // with Opts.TraceSessions, the stack of the goroutine that opened it
	// lost is the error that ended the connection.
	lost *errorx.Error
	// altered is set if a command was sent whose effect RESET may not undo.
	altered bool
	// asked is when the ASK came that the session follows, or when the node last accepted a request
	// after ASKING. It is zero if the node owns the slot. multi is set while a transaction is open:
	// the ASKING before its MULTI covers all of it. watches is set if WATCH was sent after ASKING.
	asked          time.Time
	multi, watches bool
}

// Open waits for a connection until ctx is done. If asking is set, the session sends
// ASKING before its requests, for askLasts.
func (p *Pool) Open(ctx context.Context, asking bool) (*Session, *errorx.Error) {
	open, refused := p.Enter(0, asking)
	if refused != nil {
		return nil, p.owner.WithConn(refused)
	}
	return open(ctx)
}

// Opening waits for the connection of a session until ctx is done.
type Opening func(ctx context.Context) (*Session, *errorx.Error)

// Enter is Open in two steps. bytes is the size of the requests that the caller keeps until it can
// send them. Enter does not wait. Unless it returns an error, the caller must call the Opening.
func (p *Pool) Enter(bytes int, asking bool) (Opening, *errorx.Error) {
	asked, waiting := askedNow(asking), timing.Open(nil)
	t, refused := p.enter(bytes)
	if refused != nil {
		return nil, refused
	}
	return func(ctx context.Context) (*Session, *errorx.Error) {
		c, err := p.await(ctx, t)
		if err == nil {
			c, err = p.ready(ctx, c)
		} else {
			p.users.End()
		}
		if err != nil {
			return nil, waiting.Explain(p.owner.WithConn(err))
		}
		p.noteReady(waiting.Opened)
		s := &Session{p: p, c: c, asked: asked}
		if p.config.TraceSessions {
			s.opened = string(debug.Stack())
		}
		runtime.SetFinalizer(s, (*Session).leaked)
		return s, nil
	}, nil
}

// Exchange implements send.Dedicated.
func (s *Session) Exchange(ctx context.Context, reqs []send.Request, each func(int, any)) error {
	left := len(reqs)
	if err := s.proveWatch(ctx, reqs); err != nil {
		s.p.count(err, left)
		return err
	}
	err := s.send(ctx, reqs, func(i int, res any) {
		left--
		if err, failed := res.(*errorx.Error); failed {
			res = s.p.owner.WithConn(err)
		} else if results, ok := res.([]any); ok && reqs[i].Is("EXEC") {
			errs.Replace(results, func(_ int, err *errorx.Error) *errorx.Error { return s.p.owner.WithConn(err) })
		}
		s.p.count(res, 1)
		each(i, res)
	})
	if left > 0 {
		s.p.count(err, left)
	}
	return err
}

func (s *Session) send(ctx context.Context, reqs []send.Request, each func(int, any)) error {
	if s.lost != nil {
		return s.p.owner.WithConn(redis.ErrSessionLost.Wrap(s.lost, "the session's connection was lost: open another one"))
	}
	if len(reqs) == 0 {
		return nil
	}
	if why := s.c.quiet(ctx); why != nil {
		return s.broken(lostError(ctx, sock.ErrNotConnected.Wrap(why, "connection lost"), false))
	}
	s.c.prepare(0)
	if s.p.owner.Withheld() { // otherwise EndWrites is still to come, and will end this write
		return s.lose(sock.ErrNotConnected.New("another server has taken this one's place"))
	}
	for i := range reqs {
		s.altered = s.altered || alters(&reqs[i])
	}
	if len(reqs) == 1 && reqs[0].Shared == command.WouldBlock {
		return s.block(ctx, &reqs[0], each)
	}
	t := timing.Open(nil)
	out, asked := s.encode(reqs)
	began := time.Now()
	stop := context.AfterFunc(ctx, func() { _ = s.c.Close() })
	t.NoteWrite()
	sent, err := s.c.send(out)
	for i := 0; err == nil && i < len(reqs); i++ {
		var res any
		failure := s.c.await(t, asked[i])
		if failure == nil {
			res, failure = s.c.Dec.Decode()
		}
		if failure != nil {
			err = redis.AsErrorx(failure)
			break
		}
		if asked[i] {
			s.accepted(began, res)
		}
		each(i, res)
	}
	interrupted := !stop() // interrupted means that ctx has ended and closes the connection, even if everything was answered
	switch {
	case err != nil:
		return s.broken(t.Explain(lostError(ctx, err, sent)))
	case interrupted:
		_ = s.lose(redis.ErrRequestCancelled.Wrap(ctx.Err(), "the session's context ended"))
	}
	return nil
}

// encode returns the bytes of the requests. asked tells for each request whether ASKING is sent
// before it.
func (s *Session) encode(reqs []send.Request) (out []byte, asked []bool) {
	asked = make([]bool, len(reqs))
	for i := range reqs {
		if asked[i] = s.asksBefore(&reqs[i]); asked[i] {
			out = append(out, asking...)
		}
		out = append(out, reqs[i].Buf...)
	}
	return out, asked
}

// asksBefore reports whether ASKING is sent before a request. Once the node has accepted
// WATCH, EXEC runs only if the keys have not changed, so there is no time limit for reads
// and for the transaction.
func (s *Session) asksBefore(r *send.Request) bool {
	asks := !s.multi && (askHolds(s.asked) || s.watches && (r.ReadOnly || r.Is("MULTI")))
	switch {
	case r.Is("WATCH"):
		s.watches = s.watches || asks
	case r.Is("UNWATCH"):
		s.watches = false
	case r.Is("MULTI"):
		s.multi = true
	case r.Is("EXEC"), r.Is("DISCARD"):
		s.multi, s.watches = false, false
	}
	return asks
}

// accepted records the result of a request that was sent after ASKING. at is when it was sent. Any answer
// but MOVED means that the node accepted the request.
func (s *Session) accepted(at time.Time, res any) {
	if err := redis.AsErrorx(res); err == nil || err.IsOfType(redis.ErrResult) && !err.IsOfType(redis.ErrMoved) {
		s.asked = at
	}
}

func (s *Session) block(ctx context.Context, r *send.Request, each func(int, any)) error {
	b, err := s.p.newBlocking(ctx, r, askedNow(s.asksBefore(r)))
	if err != nil {
		each(0, err)
		return nil
	}
	b.req.Typed = false
	res, alive := b.perform(s.c)
	if !b.asked.IsZero() {
		s.accepted(b.asked, res)
	}
	each(0, res) // a complete answer counts even if the connection was lost after it
	if !alive {
		_ = s.lose(lostBehind(res))
	}
	return nil
}

// broken ends the connection like lose, and reports the loss to the owner.
func (s *Session) broken(err *errorx.Error) error {
	s.p.noteLost(s.c, err)
	return s.lose(err)
}

// lose ends the connection with an error.
func (s *Session) lose(err *errorx.Error) error {
	s.lost = err
	_ = s.c.Close()
	return s.p.owner.WithConn(err)
}

// alters reports whether RESET may not undo the effect of a request on its connection. That is true
// of commands that are not in the table, and of CLIENT commands, because servers differ in what
// they reset.
func alters(r *send.Request) bool {
	call := command.Of(r.Cmd, r.Args())
	return call.Info == nil || strings.HasPrefix(call.Name, "CLIENT")
}

// Server implements send.Dedicated.
func (s *Session) Server() send.Server { return s.p.place(s.c) }

// Release implements send.Dedicated. It starts a goroutine that makes the connection like new and
// returns it to the pool.
func (s *Session) Release() {
	runtime.SetFinalizer(s, nil)
	if s.lost != nil || s.altered {
		s.p.release(s.c, false)
		return
	}
	p, c := s.p, s.c
	go func() { p.release(c, p.renew(c)) }()
}

// ReleaseUnchanged is Release for a session that has changed nothing on its connection. It returns
// the connection as it is.
func (s *Session) ReleaseUnchanged() {
	runtime.SetFinalizer(s, nil)
	s.p.release(s.c, s.lost == nil)
}

// leaked is called when a Session is garbage-collected without having been released.
func (s *Session) leaked() {
	p, c, opened := s.p, s.c, s.opened
	go func() {
		p.owner.Leaked(opened)
		p.release(c, false)
	}()
}
