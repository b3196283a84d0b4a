package rediscache

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/internal/request"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// sender sends to the servers, drops what writes change, and answers reads out of memory.
type sender struct {
	*core
	to    redis.Sender
	inner wire.Inner[redis.Future] // of to; nil if it has none
	// age is the oldest that is served; 0: nothing is.
	age time.Duration
	// all keys are cached, and not only those with one of the prefixes.
	all bool
}

var (
	_ redis.Sender              = (*sender)(nil)
	_ wire.Memory[redis.Future] = (*within)(nil)
)

// Memory is for packages of this module: nobody else can call it.
func (s *sender) Memory(a wire.Ask) wire.Memory[redis.Future] {
	if _, own := a.Held.(*sender); own {
		return (*within)(s)
	}
	return nil
}

// within is a sender as package redis sees it.
type within sender

// Recall implements wire.Memory.
func (w *within) Recall(request []byte) (got wire.Remembered, ok bool) {
	e := (*sender)(w).find(request)
	if e == nil {
		return got, false
	}
	return e.value.remembered(), true
}

// recall has a request answered out of memory, if it is there.
func (s *sender) recall(r *wire.Request, w waiter) bool {
	if !r.ReplicaSafe {
		return false
	}
	e := s.find(r.Buf)
	if e != nil {
		w.recalled(e.value)
	}
	return e != nil
}

// find returns the entry that answers a request, nil if there is none.
func (s *sender) find(request []byte) *entry {
	if s.age == 0 {
		return nil
	}
	e := s.store.find(request, hashOf((&wire.Request{Buf: request}).Arg(1)), s.age, s.opts.NullAge)
	if e == nil || !s.all && !e.listed {
		return nil
	}
	return e
}

// WantsSlot implements wire.Inner.
func (w *within) WantsSlot() bool { return w.inner != nil && w.inner.WantsSlot() }

// OpenDedicated implements wire.Inner.
func (w *within) OpenDedicated(ctx context.Context, keys []string, last error) (wire.Dedicated, error) {
	if w.inner == nil {
		return nil, redis.ErrSession.New("a %T has no sessions", w.to)
	}
	d, err := w.inner.OpenDedicated(ctx, keys, last)
	if err != nil {
		return nil, err
	}
	return &dedicated{Dedicated: d, core: w.core}, nil
}

// SendEncoded implements wire.Inner.
func (w *within) SendEncoded(r *wire.Request, cb redis.Future, n uint64) {
	s := (*sender)(w)
	if swaps(r) {
		waiter{cb, n}.resolve(errSwap())
		return
	}
	if s.read(r, waiter{cb, n}) {
		return
	}
	cb = s.watching(cb, writtenBy(r))
	if w.inner == nil {
		w.to.Send(redis.Request{Cmd: r.Cmd, Args: r.Args()}, cb, n)
		return
	}
	w.inner.SendEncoded(r, cb, n)
}

// read has a request answered out of memory, or by a tracking socket. It returns false if that
// is nothing for the cache, or none of the sockets can be used.
func (s *sender) read(r *wire.Request, w waiter) bool {
	q := s.question(r)
	if q == nil {
		return false
	}
	switch found, how := s.enter(q, w); how {
	case isThere:
		w.recalled(found.value)
	case asks:
		q.send(r)
	}
	return true
}

// question returns the reading of a request; nil if that is nothing for the cache, or there is no
// tracker to read it.
func (s *sender) question(r *wire.Request) *reading {
	if !r.ReplicaSafe || s.age == 0 || r.Slot == wire.ManySlots {
		return nil
	}
	f, l := s.nodes.feed(r.Slot)
	if f == nil {
		return nil
	}
	var room [8][]byte
	keys, isText := appendKeysOfRead(room[:0], r, f.protocol)
	if len(keys) == 0 {
		return nil
	}
	listed := s.listed(keys)
	if !s.all && !listed {
		return nil
	}
	at := now()
	if l == nil || !l.holds(at) {
		s.passed.Add(1)
		return nil
	}
	q := newReading(r.Buf)
	q.core, q.from, q.isText, q.cmd, q.slot = s.core, f, isText, r.Cmd, r.Slot
	q.lease, q.sent, q.listed, q.key = l, at, listed, hashOf(keys[0])
	for _, key := range keys[1:] {
		q.more = append(q.more, hashOf(key))
	}
	return q
}

// enter has w wait for what q would read, and counts that. Unless w asks, it recycles q.
func (s *sender) enter(q *reading, w waiter) (found *entry, how joined) {
	found, how = s.store.join(q, w, s.age, s.opts.NullAge)
	switch how {
	case asks:
		s.misses.Add(1)
		return found, how
	case waits:
		s.joined.Add(1)
	case isThere:
		s.store.shard(found.key).hits.Add(1)
	}
	q.recycle()
	return found, how
}

// Send implements redis.Sender.
func (s *sender) Send(req redis.Request, cb redis.Future, n uint64) {
	scratch := wire.GetScratch()
	defer wire.PutScratch(scratch)
	var err error
	scratch.Request, scratch.Buf, err = request.Encode(scratch.Buf, req, (*within)(s).WantsSlot())
	r := &scratch.Request
	switch {
	case err != nil || cb != nil && wire.IsCancelled(cb):
		s.to.Send(req, cb, n) // which says what is wrong
	case swaps(r):
		waiter{cb, n}.resolve(errSwap().WithProperty(redis.EKRequest, req))
	case s.recall(r, waiter{cb, n}) || s.read(r, waiter{cb, n}):
	default:
		s.to.Send(req, s.watching(cb, writtenBy(r)), n)
	}
}

// watching returns a future that drops what is kept of what is written, before it passes its
// result on to cb.
func (s *sender) watching(cb redis.Future, change written) redis.Future {
	if change.nothing() {
		return cb
	}
	return &write{Passed: wire.Passed{To: cb}, core: s.core, change: change}
}

// SendTransaction implements redis.Sender. Nothing of a transaction is answered out of memory.
func (s *sender) SendTransaction(reqs []redis.Request, cb redis.Future, start uint64) {
	var change written
	for _, req := range reqs {
		r, err := encoded(req)
		switch {
		case err != nil:
			continue // nothing is sent
		case swaps(r):
			waiter{cb, start}.resolve(errSwap().WithProperty(redis.EKRequest, req))
			return
		}
		change.add(writtenBy(r))
	}
	s.to.SendTransaction(reqs, s.watching(cb, change), start)
}

func encoded(req redis.Request) (*wire.Request, error) {
	r, _, err := request.Encode(nil, req, false)
	return &r, err
}

// Scanner implements redis.Sender: iterators are not cached.
func (s *sender) Scanner(opts redis.ScanOpts) redis.Scanner { return s.to.Scanner(opts) }

// EachShard implements redis.Sender. What f sends is not answered out of memory.
func (s *sender) EachShard(f func(redis.Sender, error) bool) {
	s.to.EachShard(func(shard redis.Sender, err error) bool {
		if shard == nil {
			return f(nil, err)
		}
		return f(&sender{core: s.core, to: shard, inner: innerOf(shard)}, err)
	})
}

// Close implements redis.Sender: it ends the cache and the sender of the servers.
func (s *sender) Close() {
	s.core.close()
	s.to.Close()
}

// innerOf is that of package redis.
func innerOf(s redis.Sender) wire.Inner[redis.Future] {
	if asked, ok := s.(interface {
		Inner(wire.Ask) wire.Inner[redis.Future]
	}); ok {
		return asked.Inner(wire.Ask{Held: s})
	}
	return nil
}
