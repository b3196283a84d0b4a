package replies

import (
	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
)

// Push appends the replies of f to those that the client will read. It returns false if an earlier request
// has failed without an answer. Then f was recycled, and its requests must not be sent: the client may
// already have got the end of the connection, and the requests may depend on one that was not sent, such as
// SELECT. Push also adds the prefix to the requests. If that is impossible, the requests fail, and Push returns
// false.
func (f *Flight) Push() bool {
	s := f.to
	if !s.push(f) {
		f.put()
		return false
	}
	if len(f.Reqs) > 0 && len(s.terms.Hooks) > 0 {
		f.observe(s.terms.Hooks)
	}
	if s.terms.Prefix == "" {
		return true
	}
	err := f.addPrefix()
	if err != nil {
		f.End(0, err)
	}
	return err == nil
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
	f.refs = f.refs[:0] // Refs is called again if the queue was full
	for i := range f.Reqs {
		f.refs = append(f.refs, &f.Reqs[i])
	}
	return f.refs
}

// Send calls send, which must send the next request or, if last is set, all remaining requests. If the queue
// is full, Send waits for room and calls send again. With last, the flight is then no longer being sent. If
// the write deadline passes while Send waits, it ends the stream.
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
			f.from++ // if this request is still refused later, another queue to which it was redirected has refused it
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

// End records that the flight is no longer being sent. If err is not nil, it is the reason why there are no
// replies from the index from on.
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

// closed returns the error of a Write that was waiting for room when the stream was closed.
func (f *Flight) closed() error {
	s := f.to
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closedLocked(s.ran || s.unresolved > len(f.replies)-int(f.from))
}

// awaitsRoom reports whether Send must send a refused request again when there is room. It need not if the
// request was sent, redirected, and then refused by the queue of another node.
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
