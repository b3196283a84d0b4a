package redis

import (
	"context"
	"sync/atomic"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/values"
)

// Session is a connection that only one goroutine uses: for WATCH, MULTI, EXEC and DISCARD, SELECT,
// CLIENT commands and blocking commands. It refuses only commands that change the protocol
// (SUBSCRIBE, MONITOR, HELLO, RESET, CLIENT REPLY and TRACKING).
//
// A Session never reconnects. If its connection is lost during a call, the call fails with [ErrIO]
// and may have run. Every further call fails with [ErrSessionLost] and is not sent. If the
// Session's context ends during a call, the call fails with [ErrRequestCancelled] and may have run,
// unless the error is an [ErrRequestWithdrawn]. Every further call fails with ErrRequestWithdrawn
// and is not sent.
//
// In a cluster a Session follows redirects until the first call that is not redirected. After that
// a redirect is a result ([ErrMoved], [ErrAsk]), because the state of the session belongs to its
// connection: open another session, and start over. After ASK the Session sends ASKING with each
// call that follows within 50 ms of the previous one. A later call gets ErrMoved until the node
// owns the slot.
type Session struct {
	ctx   context.Context
	conn  send.Dedicated
	hooks []*observer // the outermost first
	state atomic.Uint32
	multi bool // the user has sent MULTI without EXEC; owned by the running call
}

// The states of a session.
const (
	sessionClosed = iota // also the state of the zero Session
	sessionIdle
	sessionBusy
	sessionClosing // a call is running; it closes the session when it ends
)

// OpenSession opens a session on a connection of s; in a cluster, on one to the master of key, or
// to any master if key is empty. With one server, key has no effect: leave it empty. If all of
// redisconn.Opts.DedicatedConns are in use, OpenSession waits until ctx is done. ctx also limits
// all calls of the session. Close the session, or use [WithSession].
//
// In a cluster OpenSession waits for a node that is not connected as a request does: for about 200
// ms. The errors of OpenSession have [ErrTraitNotSent]: a retry is safe. The error is an
// [ErrSession] if s can't open sessions. Your own type that embeds a sender can't open any, because
// the session would bypass your methods. Open the session on the embedded sender instead. Senders
// from [WithHook] can open sessions.
func OpenSession(ctx context.Context, s Sender, key string) (*Session, error) {
	var keys []string
	if key != "" {
		keys = []string{key}
	}
	session, err := openSession(ctx, s, keys, nil)
	return session, errs.Err(err)
}

func openSession(ctx context.Context, s Sender, keys []string, last error) (*Session, error) {
	if ctx == nil {
		return nil, errs.NilContext()
	}
	if ctx.Err() != nil {
		return nil, errs.Withdrawn(ctx)
	}
	retries, s := unretried(s)
	hooks, s := unhook(s)
	lender := send.BackendOf[Future](s)
	if lender == nil {
		if known(s) == Sender(nobody{}) {
			return nil, errs.NoSender()
		}
		inside, _ := send.Inside(s)
		if of, is := inside.(send.Sessionless); is {
			return nil, errs.ErrSession.New("a %T has no sessions: %s", s, of.WhyNoSessions())
		}
		return nil, errs.ErrSession.New("%s has no sessions, because a session would bypass the methods of a type that wraps a sender: "+
			"open the session on the connection or cluster inside; to observe requests, use WithHook instead of a wrapper", send.Describe(s))
	}
	conn, err := lender.OpenDedicated(ctx, keys, last)
	for y := (*retry)(nil); err != nil; conn, err = lender.OpenDedicated(ctx, keys, last) {
		if retries == nil {
			return nil, err
		}
		if y, err = retries.after(ctx, y, err, send.Nature{}); y == nil {
			return nil, err
		}
	}
	session := &Session{ctx: ctx, conn: conn, hooks: hooks}
	session.state.Store(sessionIdle)
	return session, nil
}

// WithSession opens a session as [OpenSession] does, calls f with it, and closes it, even if
// f panics or ends the goroutine. It returns the error of f, or that of [OpenSession].
func WithSession(ctx context.Context, s Sender, key string, f func(*Session) error) error {
	if f == nil {
		return errs.Err(errs.ErrSession.New("WithSession needs a function"))
	}
	session, err := OpenSession(ctx, s, key)
	if err != nil {
		return err
	}
	defer session.Close()
	return f(session)
}

// Close returns the connection to the pool. It does not wait, and may be called more than once. If
// another goroutine is in a call, the connection is returned after that call.
func (s *Session) Close() {
	for s != nil {
		switch state := s.state.Load(); state {
		case sessionIdle:
			if s.state.CompareAndSwap(state, sessionClosed) {
				s.conn.Release()
				return
			}
		case sessionBusy:
			if s.state.CompareAndSwap(state, sessionClosing) {
				return
			}
		default:
			return
		}
	}
}

// enter starts a call.
func (s *Session) enter() error {
	if s != nil && s.state.CompareAndSwap(sessionIdle, sessionBusy) {
		return nil
	}
	if s == nil || s.state.Load() == sessionClosed {
		return errs.ErrSessionClosed.New("the session is closed: open another one")
	}
	return errs.ErrSessionBusy.New("the session is in use: a session is for one goroutine")
}

// exit ends a call.
func (s *Session) exit() {
	if !s.state.CompareAndSwap(sessionBusy, sessionIdle) {
		s.state.Store(sessionClosed)
		s.conn.Release()
	}
}

// Do sends a command and returns its result, which is an *errorx.Error if the request
// failed: see [AsError].
func (s *Session) Do(cmd string, args ...any) any {
	reqs := []Request{{Cmd: cmd, Args: args}}
	var place send.Server
	o := s.begin(OperationRequest, reqs)
	res := s.sendMany(reqs, &place)[0]
	o.end(res, place)
	return res
}

// DoInto sends a command and reads its reply into dst: see [Sync.DoInto].
func (s *Session) DoInto(dst any, cmd string, args ...any) error {
	v, err := values.VariableOf(dst)
	if err != nil {
		return errs.Err(err)
	}
	return readInto(v, s.Do(cmd, args...), cmd, args)
}

// SendMany sends the requests as one batch and returns their results in order. If one of them
// is malformed, it sends nothing. A blocking command must be the only one.
func (s *Session) SendMany(reqs []Request) []any {
	var place send.Server
	o := s.begin(OperationMany, reqs)
	results := s.sendMany(reqs, &place)
	o.end(results, place)
	return results
}

// SendTransaction sends requests between MULTI and EXEC: see [Sync.SendTransaction], and
// [Session.Transact].
func (s *Session) SendTransaction(reqs []Request) ([]any, error) {
	var place send.Server
	o := s.begin(OperationTransaction, reqs)
	results, err := s.transaction(reqs, &place)
	if err != nil {
		err = errs.Err(traced(err))
	}
	o.end(resultOf(results, err), place)
	return results, err
}

// Transact sends requests between MULTI and EXEC: see [Sync.Transact].
func (s *Session) Transact(reqs []Request) ([]any, error) {
	return transacted(s.SendTransaction(reqs))
}

// begin starts an operation for hooks, if there are any.
func (s *Session) begin(kind OperationKind, reqs []Request) observations {
	if s == nil || len(s.hooks) == 0 {
		return nil
	}
	return observe(s.ctx, s.hooks, operation(kind, reqs))
}

// sendMany is SendMany without hooks. It sets seen to the server that got the requests.
func (s *Session) sendMany(reqs []Request, seen *send.Server) []any {
	results := make([]any, len(reqs))
	encoded, bad, err := encodeAll(reqs)
	answered := 0
	if err == nil {
		err = s.exchange(encoded, seen, func(i int, res any) { results[i], answered = res, i+1 })
	}
	for i := range reqs {
		switch {
		case i < answered:
		case bad >= 0 && i != bad:
			results[i] = errs.ErrBatchFormat.Wrap(err, "the request at index %d of the batch is malformed", bad)
		default:
			results[i] = err
		}
	}
	return withRequests(results, reqs)
}

// transaction is SendTransaction without hooks.
func (s *Session) transaction(reqs []Request, seen *send.Server) ([]any, error) {
	for _, req := range reqs {
		if err := CheckRequest(req, !command.BoundsTransaction(req.Cmd)); err != nil {
			return nil, err
		}
	}
	encoded, _, err := encodeAll(append(append([]Request{Req("MULTI")}, reqs...), Req("EXEC")))
	if err != nil {
		return nil, err
	}
	var multi, exec any
	var refused *errorx.Error
	which := 0
	err = s.exchange(encoded, seen, func(i int, res any) {
		switch {
		case i == 0:
			multi = res
		case i == len(encoded)-1:
			exec = res
		case refused == nil:
			refused, which = errs.AsErrorx(res), i-1
		}
	})
	if err != nil {
		return nil, err
	}
	if refused != nil {
		refused = refused.WithProperty(errs.EKRequest, reqs[which])
	}
	results, err := TransactionResponse(errs.Aborted(ExecResult(multi, exec, len(reqs)), refused, which))
	if refused != nil && err != nil && errs.AsErrorx(err).IsOfType(errs.ErrExecAbort) && errs.Passes(refused) {
		return nil, refused
	}
	return withRequests(results, reqs), err
}

func (s *Session) exchange(encoded []send.Request, seen *send.Server, each func(int, any)) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.exit()
	if s.ctx.Err() != nil {
		return errs.Withdrawn(s.ctx)
	}
	if s.multi && isTransaction(encoded) {
		return errs.ErrSession.New("the session has sent MULTI: send EXEC or DISCARD before another transaction")
	}
	err := s.conn.Exchange(s.ctx, encoded, func(i int, res any) {
		s.note(&encoded[i], res)
		each(i, res)
	})
	if len(s.hooks) > 0 {
		*seen = s.conn.Server()
	}
	return err
}

// isTransaction reports whether requests are a whole transaction.
func isTransaction(encoded []send.Request) bool {
	last := len(encoded) - 1
	return last > 0 && encoded[0].Is("MULTI") && encoded[last].Is("EXEC")
}

// note records whether a transaction is open after request r, whose result is res.
func (s *Session) note(r *send.Request, res any) {
	switch {
	case r.Is("MULTI"):
		s.multi = s.multi || errs.AsErrorx(res) == nil
	case r.Is("EXEC"), r.Is("DISCARD"):
		s.multi = false
	}
}

// encodeAll encodes requests for the session's own connection. If a request is malformed, bad is its
// index.
func encodeAll(reqs []Request) (encoded []send.Request, bad int, err error) {
	encoded = make([]send.Request, len(reqs))
	var buf []byte
	for i, req := range reqs {
		if err := CheckRequest(req, true); err != nil {
			return nil, i, err
		}
		at := len(buf)
		buf, _ = resp.AppendCommand(buf, req.Cmd, req.Args)
		encoded[i].Encoded(req.Cmd, req.Args, buf[at:len(buf):len(buf)], true)
		if len(reqs) > 1 && encoded[i].Shared == command.WouldBlock {
			return nil, i, CheckRequest(req, false)
		}
	}
	return encoded, -1, nil
}
