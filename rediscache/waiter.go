package rediscache

import (
	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache/internal/memory"
)

// waiter is a caller that waits for a reply. Its methods resolve the caller's future.
type waiter memory.Waiter

func (w waiter) resolve(res any) {
	if w.To != nil {
		w.To.Resolve(res, w.N)
	}
}

// resolveValue resolves the future with v. If the future takes texts, it gets a text without a copy.
func (w waiter) resolveValue(v memory.Value) {
	if text, isText := v.Text(); isText {
		if taker, ok := w.To.(send.TextTaker); ok {
			taker.ResolveText(text, w.N)
			return
		}
	}
	w.resolve(v.Result())
}

// recalled resolves w with a value from memory.
func (c *core) recalled(w waiter, v memory.Value) {
	w.answeredBy(send.Server{Cached: true})
	c.given(w, v)
}

// given resolves w with a value. It survives a panic of the future, so it may run in any goroutine.
func (c *core) given(w waiter, v memory.Value) {
	defer c.recovered()
	w.resolveValue(v)
}

// refused resolves w with the error of a request that is not sent.
func (c *core) refused(w waiter, err *errorx.Error) {
	defer c.recovered()
	w.resolve(err)
}

// answeredBy tells the future which server has answered.
func (w waiter) answeredBy(p send.Server) {
	if send.Observes(w.To) {
		send.AnsweredBy(w.To, p)
	}
}

// settle resolves w without blocking: it resolves a user's future in a separate goroutine, which ends with
// the call.
func (c *core) settle(w waiter, v memory.Value) {
	if w.To == nil || send.CallerOf(w.To) != nil {
		w.resolveValue(v)
		return
	}
	go c.given(w, v)
}

// joined is the future of a read for which several callers wait.
type joined struct {
	core     *core
	all      []memory.Waiter
	attempts errs.Attempts
}

// Resolve implements redis.Future.
func (s *joined) Resolve(res any, _ uint64) {
	if err := redis.AsErrorx(res); err != nil {
		res = s.attempts.Result(err)
	}
	v := memory.ValueOf(res)
	for _, w := range s.all {
		s.core.settle(waiter(w), v)
	}
}

// Cancelled implements redis.Future: it returns nil while a caller waits.
func (s *joined) Cancelled() (why error) {
	for _, w := range s.all {
		if w.To == nil {
			continue
		}
		if why = send.WhyCancelled(w.To); why == nil {
			return nil
		}
	}
	return why
}

// listen makes the waiting callers listen to their contexts, because no connection will tell them to.
func (s *joined) listen() {
	for _, w := range s.all {
		if caller := send.CallerOf(w.To); caller != nil {
			caller.Listen()
		}
	}
}
