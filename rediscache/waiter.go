package rediscache

import (
	"log"
	"runtime/debug"

	"github.com/joomcode/redispipe/internal/memory"
	"github.com/joomcode/redispipe/internal/wire"
)

// waiter resolves who waits for a read.
type waiter memory.Waiter

func (w waiter) resolve(res any) {
	if w.To != nil {
		w.To.Resolve(res, w.N)
	}
}

// resolveValue resolves with a value that stays what it is.
func (w waiter) resolveValue(v memory.Value) {
	if text, isText := v.Text(); isText {
		if taker, ok := w.To.(wire.TextTaker); ok {
			taker.ResolveText(text, w.N)
			return
		}
	}
	w.resolve(v.Result())
}

// recalled resolves with what is in memory.
func (w waiter) recalled(v memory.Value) {
	w.answeredBy(wire.Place{Cached: true})
	w.resolveValue(v)
}

// answeredBy tells where the answer comes from.
func (w waiter) answeredBy(p wire.Place) {
	if wire.Observes(w.To) {
		wire.AnsweredBy(w.To, p)
	}
}

// settle resolves in a goroutine that must not be held by it: a future of the user's is given one
// of its own, which ends with it.
func (w waiter) settle(v memory.Value) {
	if w.To == nil || wire.CallerOf(w.To) != nil {
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
type several []memory.Waiter

// Resolve implements redis.Future.
func (s several) Resolve(res any, _ uint64) {
	v := memory.ValueOf(res)
	for _, w := range s {
		waiter(w).settle(v)
	}
}

// Cancelled implements redis.Future: it is nil while anybody waits.
func (s several) Cancelled() (why error) {
	for _, w := range s {
		if w.To == nil {
			continue
		}
		if why = wire.WhyCancelled(w.To); why == nil {
			return nil
		}
	}
	return why
}

// listen has those that wait listen to their contexts: nobody tells them to any more.
func (s several) listen() {
	for _, w := range s {
		if caller := wire.CallerOf(w.To); caller != nil {
			caller.Listen()
		}
	}
}
