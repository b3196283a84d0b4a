package replies

import (
	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
)

// Push appends the replies of f to those that the client will read. It returns false if an earlier
// request has failed without an answer; then f must not be sent and has no owner. The client may
// already have got the end of the connection, and the requests may depend on an unsent one, such as
// SELECT.
func (f *Flight) Push() bool {
	s := f.to
	if !s.push(f) {
		f.put()
		return false
	}
	if len(f.Reqs) > 0 && len(s.terms.Hooks) > 0 {
		f.observe(s.terms.Hooks)
	}
	return true
}

func (s *Stream) push(f *Flight) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return false
	}
	s.unresolved += len(f.replies)
	f.sending = true
	s.pushLocked(f)
	return true
}

// Refs returns pointers to the requests.
func (f *Flight) Refs() []*send.Request {
	f.refs = f.refs[:0] // the requests may be sent again
	for i := range f.Reqs {
		f.refs = append(f.refs, &f.Reqs[i])
	}
	return f.refs
}

// Send calls send, which sends the next request. While the queue is full, it calls send again
// whenever there may be room. If last is set, it sends all remaining requests, and ends the sender's
// use of the flight. If the write deadline passes during a wait, it ends the stream.
func (f *Flight) Send(last bool, send func()) error {
	s := f.to
	for {
		send()
		s.mu.Lock()
		room := f.room
		f.room = nil
		switch {
		case room != nil:
		case last:
			f.sentLocked()
		default:
			f.from++ // later refusals come from a queue that it was redirected to
		}
		s.mu.Unlock()
		if room == nil {
			return nil
		}
		var err error
		s.await(func() { err = room.AwaitCapacity(s.Context()) })
		if err != nil {
			closed := f.closed()
			f.End(int(f.from), redis.ErrRequestWithdrawn.Wrap(err, "there was no room in the queue"))
			return closed
		}
	}
}

// End ends the sender's use of a flight. err, if any, is the reason why no reply arrives from the index
// from on.
func (f *Flight) End(from int, err error) {
	for ; err != nil && from < len(f.replies); from++ {
		f.Resolve(err, uint64(from))
	}
	f.to.mu.Lock()
	defer f.to.mu.Unlock()
	f.sentLocked()
}

func (f *Flight) sentLocked() {
	if f.sending = false; f.gone {
		f.put()
	}
}

// closed returns why the stream was closed, while a Write waited for room.
func (f *Flight) closed() error {
	s := f.to
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closedLocked(s.ran || s.unresolved > len(f.replies)-int(f.from))
}

// awaitsRoom reports whether a refused request must be sent again. That is not the case if it was
// already sent, and refused by the queue to which it was redirected.
func (f *Flight) awaitsRoom(n uint64, full *errorx.Error) bool {
	room, ok := full.Property(errs.EKCapacity)
	if !ok {
		return false
	}
	f.to.mu.Lock()
	defer f.to.mu.Unlock()
	awaits := f.sending && n >= f.from
	if awaits {
		f.room = room.(send.CapacityWaiter)
	}
	return awaits
}
