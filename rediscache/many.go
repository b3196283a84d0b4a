package rediscache

import (
	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache/internal/memory"
)

// many is one call of SendMany.
type many struct {
	s     *sender
	reqs  []redis.Request
	wires []send.Request
	cb    redis.Future
	start uint64
	// changes is the index of the first request that may write, or the number of requests if there is none.
	changes int

	found []found
	asked []*readings // the requests for tracking sockets, by feed
	first []int       // the requests for masters, whose replies are not kept
	rest  []int       // the requests to forward to the client that New got
}

// found is a request that is answered from memory.
type found struct {
	i     int
	value memory.Value
}

// SendMany implements redis.Sender. If all of the requests are reads, it sends the misses as one batch to
// each tracking socket. Otherwise it answers only requests before the first write from memory, and
// forwards the others, in order, to the client that New got.
func (s *sender) SendMany(reqs []redis.Request, cb redis.Future, start uint64) {
	m := &many{s: s, reqs: reqs, cb: cb, start: start}
	bad := m.encode()
	if bad >= 0 && m.wires[bad].Is("SWAPDB") {
		m.refuse(bad)
		return
	}
	wrong := bad >= 0 || cb != nil && send.IsCancelled(cb)
	for i := range m.wires {
		if wrong {
			m.rest = append(m.rest, i) // the client that New got returns the error, or sends the request
		} else {
			m.place(i)
		}
	}
	for _, b := range m.asked {
		b.send()
	}
	m.send(s.masters, m.first)
	m.send(s.to, m.rest)
	if len(m.found) == len(reqs) {
		waiter{To: cb}.answeredBy(send.Server{Cached: true})
	}
	send.Each(0, len(m.found), func(i int) {
		f := &m.found[i]
		s.given(waiter{cb, start + uint64(f.i)}, f.value)
	})
}

// encode encodes the requests. It returns the index of the first request that must not be sent, or -1.
func (m *many) encode() (bad int) {
	var buf []byte
	m.wires = make([]send.Request, len(m.reqs))
	m.changes = len(m.reqs)
	wantsSlot := m.s.WantsSlot()
	bad = -1
	for i, req := range m.reqs {
		r := &m.wires[i]
		var err error
		if *r, buf, err = backend.Encode(buf, req, wantsSlot); err != nil || r.Shared != command.Allowed || r.Is("SWAPDB") {
			if bad < 0 {
				bad = i
			}
			continue
		}
		if !r.OnlyReads() {
			m.changes = min(m.changes, i)
		}
	}
	return bad
}

// place decides how to answer a request.
func (m *many) place(i int) {
	r, s := &m.wires[i], m.s
	if i < m.changes {
		var v memory.Value
		if s.find(r.Buf, &v) {
			m.found = append(m.found, found{i, v})
			return
		}
	}
	if m.changes < len(m.reqs) {
		m.rest = append(m.rest, i)
		return
	}
	q, how := s.question(r)
	switch how {
	case isFirst:
		m.first = append(m.first, i)
		return
	case isForwarded:
		m.rest = append(m.rest, i)
		return
	}
	switch kept, how := s.enter(q, waiter{m.cb, m.start + uint64(i)}); how {
	case memory.IsThere:
		m.found = append(m.found, found{i, kept})
	case memory.Asks:
		b := m.batch(q.from)
		r.Caller = send.CallerOf(m.cb)
		b.all, b.requests = append(b.all, q), append(b.requests, r)
	}
}

func (m *many) batch(from *feed) *readings {
	for _, b := range m.asked {
		if b.from == from {
			return b
		}
	}
	b := &readings{from: from}
	m.asked = append(m.asked, b)
	return b
}

// send sends some of the requests.
func (m *many) send(to redis.Sender, which []int) {
	if len(which) == 0 {
		return
	}
	reqs := make([]redis.Request, len(which))
	f := &restOfMany{Forward: send.Forward{To: m.cb}, core: m.s.core, start: m.start, index: which}
	f.changes = make([]send.Changes, len(which))
	for at, i := range which {
		reqs[at] = m.reqs[i]
		if m.wires[i].Buf != nil { // otherwise the request is malformed
			f.changes[at] = m.wires[i].Changes()
		}
	}
	to.SendMany(reqs, f, 0)
}

// refuse fails all requests, because the one with the index bad is SWAPDB.
func (m *many) refuse(bad int) {
	send.Each(0, len(m.reqs), func(i int) {
		err := errSwap()
		if i != bad {
			err = redis.ErrBatchFormat.Wrap(err, "the request at index %d of the batch is refused", bad)
		}
		m.s.refused(waiter{m.cb, m.start + uint64(i)}, err.WithProperty(redis.EKRequest, m.reqs[i]))
	})
}

// restOfMany is the future of those requests of a SendMany that are not sent to a tracking socket.
type restOfMany struct {
	send.Forward
	core    *core
	start   uint64
	index   []int
	changes []send.Changes
}

// Resolve implements redis.Future.
func (f *restOfMany) Resolve(res any, n uint64) {
	if change := f.changes[n]; !change.Empty() {
		f.core.changed(change)
	}
	waiter{f.To, f.start + uint64(f.index[n])}.resolve(res)
}
