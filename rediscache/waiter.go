package rediscache

import (
	"log"
	"runtime/debug"

	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// waiter is who waits for a read: a future, which may be nil, with its number.
type waiter struct {
	to redis.Future
	n  uint64
}

func (w waiter) resolve(res any) {
	if w.to != nil {
		w.to.Resolve(res, w.n)
	}
}

// resolveValue resolves with a value that stays what it is.
func (w waiter) resolveValue(v value) {
	if taker, ok := w.to.(wire.TextTaker); ok && v.isText {
		taker.ResolveText(v.text, w.n)
		return
	}
	w.resolve(v.result())
}

// recalled resolves with what is in memory.
func (w waiter) recalled(v value) {
	w.answeredBy(wire.Place{Cached: true})
	w.resolveValue(v)
}

// answeredBy tells where the answer comes from.
func (w waiter) answeredBy(p wire.Place) {
	if wire.Observes(w.to) {
		wire.AnsweredBy(w.to, p)
	}
}

// settle resolves in a goroutine that must not be held by it: a future of the user's is given one
// of its own, which ends with it.
func (w waiter) settle(v value) {
	if w.to == nil || wire.CallerOf(w.to) != nil {
		w.resolveValue(v)
		return
	}
	go func() {
		defer func() {
			if v := recover(); v != nil {
				log.Printf("redispipe: a future panicked: %v\n%s", v, debug.Stack())
			}
		}()
		w.resolveValue(v)
	}()
}

// several is the future of a read that several callers wait for.
type several []waiter

// Resolve implements redis.Future.
func (s several) Resolve(res any, _ uint64) {
	v := value{other: res} // nobody else has it
	for _, w := range s {
		w.settle(v)
	}
}

// Cancelled implements redis.Future: it is nil while anybody waits.
func (s several) Cancelled() (why error) {
	for _, w := range s {
		if w.to == nil {
			continue
		}
		if why = wire.WhyCancelled(w.to); why == nil {
			return nil
		}
	}
	return why
}

// listen has those that wait listen to their contexts: nobody tells them to any more.
func (s several) listen() {
	for _, w := range s {
		if caller := wire.CallerOf(w.to); caller != nil {
			caller.Listen()
		}
	}
}
