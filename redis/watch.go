package redis

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/internal/values"
)

const (
	// watchMost is the greatest number of attempts that [Watch] makes. Even with many callers that
	// change the same key, hardly any needs as many.
	watchMost = 128
	// The pause between two attempts is random, up to a bound. The bound begins with
	// watchPauseFirst and doubles with each attempt, up to the time that watchRivals attempts take.
	// If that many callers pause for up to that long, most attempts do not collide. The bound
	// depends on how slow the server and the process are, but its limit is at least watchPauseLeast
	// and at most watchPauseMost.
	watchPauseFirst = time.Millisecond
	watchRivals     = 64
	watchPauseLeast = 64 * time.Millisecond
	watchPauseMost  = 2 * time.Second
	// Watch gives up when opening a session has failed at least watchUnopened times in a row, and
	// for at least watchUnopenedFor. If opening fails at once, the server has that time to come
	// back. In a cluster each attempt lasts as long as the cluster retries a request, which is
	// longer.
	watchUnopened    = 3
	watchUnopenedFor = time.Second
)

// Tx is one attempt at an optimistic transaction: see [Watch]. It is for one goroutine,
// and can't be used after the function has returned.
type Tx struct {
	session *Session
	queued  []Request
	refused error // the first error of Do, DoInto or Queue
}

// Do sends a command at once, usually one that reads a watched key, and returns its result: see
// [Session.Do]. It refuses a command that would break the transaction, such as MULTI, UNWATCH or
// SELECT, with [ErrCommandForbidden]. Then Watch returns that error and does not send the
// transaction.
func (t *Tx) Do(cmd string, args ...any) any {
	if err := t.check(Request{Cmd: cmd, Args: args}); err != nil {
		return t.refuse(err)
	}
	return t.open().Do(cmd, args...)
}

// DoInto is like Do, but reads the reply into dst: see [Sync.DoInto].
func (t *Tx) DoInto(dst any, cmd string, args ...any) error {
	if err := t.check(Request{Cmd: cmd, Args: args}); err != nil {
		return errs.Err(t.refuse(err))
	}
	return t.open().DoInto(dst, cmd, args...)
}

// check returns an error for a command that changes the state of the session. WATCH is allowed,
// because it only adds keys.
func (t *Tx) check(req Request) error {
	call := command.Of(req.Cmd, req.Args)
	if call.Verdict(false) != command.ChangesSession || call.Name == "WATCH" {
		return nil
	}
	return errs.ErrCommandForbidden.New("%s can't be sent within Watch, which sends WATCH, MULTI and EXEC itself: use Tx.Queue", call.Name).
		WithProperty(errs.EKRequest, req)
}

// refuse records the first error. Then the transaction is not sent.
func (t *Tx) refuse(err error) any {
	res := traced(err)
	if t != nil && t.refused == nil {
		t.refused = res.(error)
	}
	return res
}

// open returns the session. If Watch did not create the Tx, it returns nil, which acts like a closed session.
func (t *Tx) open() *Session {
	if t == nil {
		return nil
	}
	return t.session
}

// Queue adds a command to the transaction, which is sent after the function has returned. cmd
// is the command's name, followed by its arguments, or a [Command] alone. Queue does not set the
// variable of a [Reading]: use [Collect] to read the results of Watch. Don't change arguments before
// the transaction is sent. If a shared connection would refuse the command, such as EXEC,
// Watch returns that error, and the transaction is not sent.
func (t *Tx) Queue(cmd any, args ...any) {
	req, err := RequestOf(cmd, args...)
	if err == nil {
		err = CheckRequest(req, false)
	}
	if err != nil {
		t.refuse(err)
	}
	if t != nil {
		t.queued = append(t.queued, req)
	}
}

// Watch runs an optimistic transaction: it watches keys, calls f, sends the requests that f has
// queued between MULTI and EXEC, and returns their results. Like [Session.Transact], it returns a
// *[ResultError] if any of the requests failed. If f returns an error, or queues nothing, Watch
// sends no transaction.
//
// If a key was changed or moved to another node before EXEC ran, or the connection was lost before
// EXEC was sent, Watch pauses and calls f again. It gives up after 128 attempts, when ctx is done,
// or when no session could be opened for a second (and at least three tries). Then the error gives
// the number of attempts. It is an [ErrExecEmpty] if keys kept changing, and nothing ran. If EXEC
// was sent but not answered, the error is [ErrIO] or [ErrRequestCancelled]: the transaction ran
// whole or not at all, and Watch does not call f again.
//
// In a cluster all keys must be in one slot, including those of the commands that f sends or
// queues; otherwise the error is [ErrNoSlotKey]. Each Watch uses a [Session].
func Watch(ctx context.Context, s Sender, keys []string, f func(*Tx) error) ([]any, error) {
	return WatchAtMost(ctx, watchMost, s, keys, f)
}

// WatchAtMost is like [Watch], but makes at most attempts attempts instead of 128. If attempts
// is less than 1, the error is an [ErrSession].
func WatchAtMost(ctx context.Context, attempts int, s Sender, keys []string, f func(*Tx) error) ([]any, error) {
	switch {
	case ctx == nil:
		return nil, errs.Err(errs.NilContext())
	case len(keys) == 0:
		return nil, errs.Err(traced(errs.ErrNoSlotKey.New("Watch needs a key")))
	case f == nil:
		return nil, errs.Err(traced(errs.ErrSession.New("Watch needs a function")))
	case attempts < 1:
		return nil, errs.Err(traced(errs.ErrSession.New("Watch needs an attempt")))
	}
	w := watch{ctx: ctx, sender: s, keys: keys, f: f, most: attempts}
	results, err := w.observed()
	if w.failure == nil { // if failure is set, err is the error that f returned
		err = errs.Err(err)
	}
	return results, err
}

// watch is a running call of Watch.
type watch struct {
	ctx     context.Context
	sender  Sender
	keys    []string
	f       func(*Tx) error
	most    int      // bound of the number of attempts
	session *Session // nil if there is no connection now
	last    error    // the error of the last attempt
	again   bool     // the attempt ran nothing, and another may succeed
	failure error    // the error of f, if Watch returns it
	// unopened counts the attempts since a session was last opened. since is when the first of them
	// failed.
	unopened int
	since    time.Time
	place    send.Server
}

// errNotReturned takes the place of the result of a function that panics or ends its goroutine.
var errNotReturned = errors.New("it has not returned")

// observed calls run, as one operation for hooks.
func (w *watch) observed() (results []any, err error) {
	hooks, _ := unhook(w.sender)
	o := observe(w.ctx, hooks, Operation{Kind: OperationWatch, Command: "WATCH"})
	defer func() {
		res := resultOf(results, err)
		if w.failure != nil {
			res = errs.ErrRequestWithdrawn.Wrap(w.failure, "the function given to Watch failed")
		}
		o.end(res, w.place)
	}()
	return w.run()
}

func (w *watch) run() ([]any, error) {
	defer w.close()
	for tries := 1; ; tries++ {
		began := time.Now()
		results, err := w.attempt()
		if err == nil || !w.again {
			if err != nil && errs.AsErrorx(err).IsOfType(errs.ErrRequestWithdrawn) && w.failure == nil {
				err = errs.Within(err, "in attempt %d", tries)
			}
			return results, err
		}
		if tries == w.most {
			return nil, errs.Within(err, "in each of %d attempts", tries)
		}
		if w.unopened >= watchUnopened && time.Since(w.since) >= watchUnopenedFor {
			return nil, errs.Within(err, "after %d attempts", tries)
		}
		most := min(max(watchPauseLeast, watchRivals*time.Since(began)), watchPauseMost)
		if _, err := lifetime.Pause(w.ctx, rand.N(lifetime.DoubledPause(watchPauseFirst, most, tries)), nil); err != nil {
			return nil, errs.Within(errs.Withdrawn(w.ctx), "after %d attempts", tries)
		}
	}
}

func (w *watch) close() {
	if w.session != nil {
		if len(w.session.hooks) > 0 {
			w.place = w.session.conn.Server()
		}
		w.session.Close()
		w.session = nil
	}
}

// attempt makes one attempt. Watch returns its error unless w.again is set.
func (w *watch) attempt() (results []any, err error) {
	w.again = false
	if w.session == nil {
		if w.session, err = openSession(w.ctx, w.sender, w.keys, w.last); err != nil {
			if errs.Passes(errs.AsErrorx(err)) {
				return nil, err // the sender can't follow the redirect
			}
			if w.unopened++; w.unopened == 1 {
				w.since = time.Now()
			}
			return nil, w.failed(err)
		}
		w.unopened = 0
	}
	if err := errs.Of(w.session.sendMany([]Request{Req("WATCH", values.Args(w.keys)...)}, &w.place)[0]); err != nil {
		return nil, w.failed(w.unsent(err))
	}
	tx := &Tx{session: w.session}
	if err := w.call(tx); err != nil {
		if lost := w.session.check(); lost != nil {
			return nil, w.failed(w.unsent(lost))
		}
		if moved := errs.AsErrorx(err); errs.Passes(moved) {
			return nil, w.failed(moved)
		}
		w.failure = err
		return nil, err
	}
	switch {
	case tx.refused != nil:
		return nil, tx.refused
	case len(tx.queued) == 0:
		return nil, nil
	}
	results, err = w.session.Transact(tx.queued)
	switch {
	case err == nil || isOfResult(err):
		return results, err
	case errs.AsErrorx(err).IsOfType(errs.ErrExecEmpty):
		w.again = true // the next attempt uses the same connection
		return nil, err
	}
	return nil, w.failed(err)
}

// call calls f.
func (w *watch) call(tx *Tx) error {
	w.failure = errNotReturned
	err := w.f(tx)
	w.failure = nil
	return err
}

// failed gives up the session after an error, and decides whether to try again. If the error is a
// redirect for a slot other than that of the keys, it does not, because another attempt would get
// the same redirect.
func (w *watch) failed(err error) error {
	w.close()
	w.last = err
	failure := errs.AsErrorx(err)
	if to, redirected := failure.Property(errs.EKSlot); redirected && to != any(int64(slot.Of(storedKey(w.sender, w.keys[0])))) {
		return traced(errs.ErrNoSlotKey.Wrap(err, "Watch has keys of several slots: give them a common {hash tag}")).(error)
	}
	lost := failure.HasTrait(errs.ErrTraitNotSent) && failure.HasTrait(errs.ErrTraitConnectivity)
	// If ctx has ended since, run returns its error instead of the refusal.
	w.again = lost && w.ctx.Err() == nil || errs.Passes(failure)
	return err
}

// unsent returns the error of a request that failed before EXEC. No matter what happened to that
// request, no part of the transaction was sent.
func (w *watch) unsent(err error) error {
	switch {
	case w.ctx.Err() != nil:
		return errs.Withdrawn(w.ctx)
	case errs.OutcomeOf(err) == errs.Unknown:
		return errs.ErrSessionLost.Wrap(err, "the connection was lost before EXEC was sent")
	}
	return err
}

// check returns an error if the session's connection is lost.
func (s *Session) check() error { return s.exchange(nil, new(send.Server), nil) }
