package redis

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
)

// RetryOpts are the options of [WithRetry]. The zero value is fit for production.
type RetryOpts struct {
	// Within is how long a request waits and is sent again, counted from its first failure. It is
	// never sent after the deadline of its context. If it is negative, nothing is sent again: see
	// [NoRetry]. Default: until the deadline, or 3 s without one.
	Within time.Duration
	// IdempotentWrites allows the sender to send a write that ended unknown again, if running it
	// twice leaves the server in the same state as running it once: SET without a condition or GET,
	// SETEX, PSETEX, MSET, SETRANGE, DEL, UNLINK, EXPIREAT and PEXPIREAT without a condition, HSET,
	// HMSET, HDEL, LSET, SADD, SREM, ZREM, and ZADD without options. The second run may overwrite
	// what another client has written after the first, and its reply counts only its own changes.
	// Default: false.
	IdempotentWrites bool
}

// NoRetry are options for [WithRetry] that send nothing again.
var NoRetry = RetryOpts{Within: -1}

// retryWithin is the default of RetryOpts.Within without a deadline. In that time a supervisor
// restarts a server, or sentinels elect another master.
const retryWithin = 3 * time.Second

// WithRetry returns a Sender that sends through s, and repeats failed requests whose callers wait:
// those of Sync, SyncCtx and the functions that take a Sender. What happens to a request depends on
// its outcome:
//
//   - A request that was not sent waits until there is a connection, or another node takes it.
//   - A request that a server refused for a temporary reason, such as LOADING, is sent again. A script
//     or a function may return such an error after it has written, so it is sent again only if the
//     error has a server's own text.
//   - A read that ended unknown is sent again.
//   - A write that ended unknown may have run. Its error is returned at once, unless
//     RetryOpts.IdempotentWrites allows to send it again.
//
// So no write runs twice. A transaction is a read if all of its requests are; the requests of a
// batch are judged one by one, and those that are sent again keep their order. A request is not
// sent again if that can't help, for example after a wrong password (see [SafeToRetry]), if the
// queue of the connection is full, or if the deadline can't be met. A request ends as soon as its
// context ends or s is closed. If an attempt may have run, the error says so, even if a later one
// was not sent.
//
// A proxy may close the connection at a command that it does not know. After four attempts at which
// this has happened, a request is not sent again. Two attempts are enough if no other request was in
// flight at the last one. After two such attempts, a request of Do is sent on a dedicated
// connection, which no other request uses.
//
// At most a tenth of the requests is sent again (waiting for a connection does not count), so that
// an outage does not cause more load. At most 65,536 callers wait at a time. Other requests that
// fail return their errors at once. [AttemptsOf] returns the errors of all attempts.
//
// Requests with a Future (Send, SendMany, SendTransaction, ChanFutured) are sent once, because a
// program that does not wait for its requests may rely on their order.
//
// If s already retries, as a client of redispipe.Open does, opts replace its options. Hooks of s
// see each attempt. If you have a Sender of your own, pass it to WithRetry, not the other way
// around: inside your Sender, WithRetry only sees calls of Send, which does not wait.
func WithRetry(s Sender, opts RetryOpts) Sender {
	s = known(s)
	for {
		if d := delegateOf(s); d != nil {
			if _, retries := d.(*retrying); !retries {
				break
			}
			s = d
		}
		r, retries := s.(*retrying)
		if !retries {
			break
		}
		s = r.Sender
	}
	if opts.Within < 0 {
		return s
	}
	_, inner := unhook(s)
	r := &retrier{opts: opts}
	to := send.BackendOf[Future](inner)
	if spends, ok := to.(send.Spender); ok {
		r.Budget = spends.Budget()
	} else {
		counter, _ := to.(send.Counter)
		r.Budget = send.NewBudget(counter, send.BudgetShare)
	}
	r.restorer, _ = to.(send.Restorer)
	if lives, ok := inner.(interface{ Ctx() context.Context }); ok {
		r.ended = lives.Ctx().Done()
	}
	return r.around(s)
}

// retrying is the Sender that WithRetry returns. The wrappers recognize this type: they send
// directly to the sender inside it, and ask the retrier only after an error. A decorator that
// embeds a retrying is a different type, so the wrappers treat it like any user's Sender.
type retrying struct {
	opened
	*retrier
}

// retrier has what several senders with the same retries share.
type retrier struct {
	opts  RetryOpts
	ended <-chan struct{} // closed when the sender ends; nil if the sender has no such channel
	// restorer tells when requests can be sent again. If it is nil, the connection that has failed
	// tells.
	restorer send.Restorer
	waiting  atomic.Int64 // callers that wait for their next attempt
	*send.Budget
}

// maxRetryWaiting bounds the callers that wait for their next attempt. A cluster has the same
// bound.
const maxRetryWaiting = 1 << 16

// around returns a sender that adds the retries of r to s.
func (r *retrier) around(s Sender) Sender { return &retrying{open(s), r} }

// unretried returns the sender inside the retries of s, and the retrier of s, or nil if s has none.
func unretried(s Sender) (*retrier, Sender) {
	if d := delegateOf(s); d != nil {
		s = d
	}
	if r, ok := s.(*retrying); ok {
		return r.retrier, r.Sender
	}
	return nil, s
}

// outside applies f to the sender inside the retries of s, and adds the same retries to the result.
func outside(s Sender, f func(Sender) Sender) Sender {
	if r, inner := unretried(s); r != nil {
		return r.around(f(inner))
	}
	return f(s)
}

// Unhook is for packages of this module. It returns the sender inside r, and a function that gives
// another sender the same retries.
func (r *retrying) Unhook() (inner Sender, again func(Sender) Sender) { return r.Sender, r.around }

// EachShard implements Sender.
func (r *retrying) EachShard(f func(Sender, error) bool) {
	eachShard(r.Sender, r.around, f)
}

// Scanner implements Sender.
func (r *retrying) Scanner(opts ScanOpts) Scanner {
	return &retryingScanner{Scanner: r.Sender.Scanner(opts), by: r.retrier}
}

// retryingScanner is a Scanner whose steps are sent again if their caller waits.
type retryingScanner struct {
	Scanner
	by *retrier
}

// next is scanNext with retries.
func (s *retryingScanner) next(ctx context.Context, seen *send.Server) ([]string, error) {
	var y *retry
	for s.by.Count(1); ; {
		keys, err := scanNext(ctx, s.Scanner, seen)
		if err == nil || err == ScanEOF {
			return keys, err
		}
		if y, err = s.by.after(ctx, y, err, send.Nature{Twice: true}); y == nil {
			return nil, errs.AsError(err)
		}
	}
}

// sendTransaction is SendTransaction for a waiting caller.
func (r *retrying) sendTransaction(ctx context.Context, reqs []Request, seen *send.Server) ([]any, error) {
	var y *retry
	of := send.Together(len(reqs), func(i int) send.Nature { return r.nature(reqs[i].Cmd, reqs[i].Args) })
	for r.Count(len(reqs)); ; {
		results, err := sendTransaction(ctx, r.Sender, reqs, seen)
		if err == nil {
			return results, nil
		}
		if y, err = r.after(ctx, y, err, of); y == nil {
			return nil, errs.AsError(err)
		}
	}
}

func (r *retrier) nature(cmd string, args []any) send.Nature {
	return send.NatureOf(cmd, args, r.opts.IdempotentWrites)
}
