package redispubsub

import (
	"context"
	"iter"

	"github.com/joomcode/redispipe/redis"
)

// Events returns the events in order. They end without an error when the subscription is
// closed, and with an error when ctx is done, when the buffer was full ([ErrBufferFull]),
// or when the subscriber has ended ([ErrClosed]). Events that came before that are
// returned first, unless ctx is done.
//
// One goroutine at a time may iterate: another one gets [ErrConsumed]. After the loop was
// left, another loop goes on with the next event.
func (s *Subscription) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if ctx == nil {
			yield(nil, redis.ErrContextIsNil.New("context is nil"))
			return
		}
		b := s.buffer
		if !b.consume(true) {
			yield(nil, ErrConsumed.New("another goroutine is reading the events"))
			return
		}
		defer b.consume(false)
		done := ctx.Done()
		for {
			select {
			case <-done:
				yield(nil, context.Cause(ctx))
				return
			default:
			}
			ev, ended := b.next()
			switch {
			case b.discarded.Load():
				return
			case ev != nil:
				if !yield(ev, nil) {
					return
				}
			case ended:
				if err := s.Err(); err != nil {
					yield(nil, err)
				}
				return
			default:
				select {
				case <-b.more:
				case <-done:
				}
			}
		}
	}
}

// Chan returns a channel of the events, for a select. It is closed when they end, or ctx
// is done, and at once if ctx is nil or another goroutine is reading the events. If the
// subscription has ended, Err has the error. An event that is not received when ctx ends
// is lost.
func (s *Subscription) Chan(ctx context.Context) <-chan Event {
	events := make(chan Event)
	go func() { // ends with ctx or the events
		defer close(events)
		for ev, err := range s.Events(ctx) {
			if err != nil {
				return
			}
			select {
			case events <- ev:
			case <-ctx.Done():
				return
			}
		}
	}()
	return events
}

// Err returns the error that has ended the subscription: nil before, and after Close.
func (s *Subscription) Err() error {
	s.buffer.mu.Lock()
	defer s.buffer.mu.Unlock()
	return s.buffer.err
}

// consume begins or ends an iteration. It returns false if there is another.
func (b *buffer) consume(begin bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if begin && b.consumed {
		return false
	}
	b.consumed = begin
	return true
}

// next returns the next event, nil if there is none at present, or, with ended, if none
// will come. Only the consumer may call it.
func (b *buffer) next() (ev Event, ended bool) {
	if len(b.batch) == 0 {
		if ended := b.refill(); len(b.batch) == 0 {
			return nil, ended
		}
	}
	ev = b.batch[0]
	b.batch[0] = nil
	b.batch = b.batch[1:]
	if g, ok := ev.(*gap); ok {
		return g.public(), false
	}
	return ev, false
}

// refill makes the room of the last batch free, and takes another.
func (b *buffer) refill() (ended bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= b.batchHeld
	b.bytes -= b.batchBytes
	if b.batchHeld > 0 {
		signal(b.room)
	}
	b.batchHeld, b.batchBytes = 0, 0
	b.batch = append(b.space[:0], b.front...)
	clear(b.front)
	b.front = b.front[:0]
	most := min(batchMost, max(b.opts.MaxMessages/batchShare, 1))
	for b.head < len(b.queue) && b.batchHeld < most && b.batchBytes <= b.opts.MaxBytes/batchShare {
		ev := b.popLocked()
		if msg, ok := ev.(Message); ok {
			b.batchHeld++
			b.batchBytes += msg.size() + messageOverhead
		}
		b.batch = append(b.batch, ev)
	}
	if b.head == len(b.queue) {
		b.batch = append(b.batch, b.tail...)
		clear(b.tail)
		b.tail = b.tail[:0]
	}
	b.space = b.batch
	return b.ended
}
