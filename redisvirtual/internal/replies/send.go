package replies

import (
	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
)

// Push has the client read the replies of f behind those that it is to read already. It returns
// false if a request before them was not answered, and f belongs to nobody then: it is not to be
// sent, since the client may have been told how the connection ends, and what was not sent may be
// what the rest depends on, as SELECT.
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

// Refs returns the requests for those who want their addresses.
func (f *Flight) Refs() []*send.Request {
	f.refs = f.refs[:0] // they may be sent again
	for i := range f.Reqs {
		f.refs = append(f.refs, &f.Reqs[i])
	}
	return f.refs
}

// Send calls send, which sends the next request, and again each time there may be room in a queue that
// was full. If last is set, it sends all that are left, and ends the sender's part of the flight. If the
// write deadline passes meanwhile, it ends the stream.
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
			f.from++ // what refuses it from here on is a queue that it was redirected to
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

// End ends the sender's part of a flight. If there is an error, it is why no reply comes from that
// index on.
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

// awaitsRoom reports whether a request that was refused is to be sent again: not one that was sent
// before, and refused where it was redirected to.
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
