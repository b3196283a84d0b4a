package redispubsub

import (
	"context"
	"iter"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/redis"
)

// Events returns the events in order. They end without an error when the subscription is
// closed, and with an error when ctx is done, when the buffer was full ([ErrBufferFull]),
// or when the subscriber was closed ([ErrClosed]). Events that arrived before that are
// returned first, unless ctx is done.
//
// Only one goroutine may iterate at a time: another gets [ErrConsumed]. If you leave the loop,
// the next loop continues with the next event.
func (s *Subscription) Events(ctx context.Context) iter.Seq2[Event, error] {
	s = s.made()
	if s.prefix == "" {
		return s.events(ctx)
	}
	return func(yield func(Event, error) bool) {
		for ev, err := range s.events(ctx) {
			own := true
			if err == nil {
				ev, own = s.prefix.event(ev)
			}
			if own && !yield(ev, err) {
				return
			}
		}
	}
}

// events is Events for a subscription without a prefix: it yields names as servers know them.
func (s *Subscription) events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if ctx == nil {
			yield(nil, redis.Err(errs.NilContext()))
			return
		}
		in := s.set.Inbox
		if !in.Consumed.CompareAndSwap(false, true) {
			yield(nil, redis.Err(ErrConsumed.New("another goroutine is reading the events")))
			return
		}
		defer in.Consumed.Store(false)
		done := ctx.Done()
		for {
			select { // check first, so that the next event stays for another loop
			case <-done:
				yield(nil, lifetime.Reason(ctx))
				return
			case <-in.Discarded:
				return
			default:
			}
			switch ev, ended := in.Next(); {
			case ev != nil:
				if !yield(publicEvent(ev), nil) {
					return
				}
			case ended:
				if err := s.Err(); err != nil {
					yield(nil, err)
				}
				return
			default:
				select {
				case <-in.More:
				case <-done:
				}
			}
		}
	}
}

// Chan returns a channel of the events, for a select. The channel is closed when the events end or ctx
// is done, and at once if ctx is nil or another goroutine is reading the events. If the
// subscription has ended, Err returns the error. If nobody has received an event when ctx ends, the
// next loop gets it.
func (s *Subscription) Chan(ctx context.Context) <-chan Event {
	s = s.made()
	events := make(chan Event)
	go func() { // ends with ctx or the events
		defer close(events)
		for taken, err := range s.events(ctx) {
			if err != nil {
				return
			}
			ev, own := s.prefix.event(taken)
			if !own {
				continue
			}
			select {
			case events <- ev:
			case <-s.set.Inbox.Discarded:
				return
			case <-ctx.Done():
				s.set.Inbox.Untake(taken)
				return
			}
		}
	}()
	return events
}

// Err returns the error that ended the subscription. It returns nil before that, and after Close.
func (s *Subscription) Err() error { return redis.Err(s.made().set.Inbox.Err()) }
