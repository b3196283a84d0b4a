package rediscache

import (
	"context"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache/internal/memory"
)

// sender answers reads from memory, forwards other requests to the servers, and evicts the keys that
// writes change.
type sender struct {
	*core
	to      redis.Sender
	backend send.Backend[redis.Future] // the backend of to; nil if to has none
	// limits decide which replies the sender serves. With an Age of 0 it serves none. With All it caches
	// all keys, not only those with one of the prefixes.
	limits memory.Limits
}

var (
	_ redis.Sender              = (*sender)(nil)
	_ send.Memory[redis.Future] = (*sender)(nil)
)

// Servers returns the sender that the cache wraps. Only packages of this module may call it.
func (s *sender) Servers() redis.Sender { return s.to }

// Recall implements send.Memory.
func (s *sender) Recall(request []byte) (got send.Remembered, ok bool) {
	var v memory.Value
	if !s.find(request, &v) {
		return got, false
	}
	if got.Text, got.IsText = v.Text(); !got.IsText {
		got.Result = v.Result()
	}
	return got, true
}

// recall answers a request from memory, if the reply is there.
func (s *sender) recall(r *send.Request, w waiter) bool {
	if !r.ReplicaSafe {
		return false
	}
	var v memory.Value
	ok := s.find(r.Buf, &v)
	if ok {
		s.recalled(w, v)
	}
	return ok
}

// find sets v to the reply to a request, if it is in memory.
func (s *sender) find(request []byte, v *memory.Value) (found bool) {
	return s.limits.Age != 0 && s.store.Find(request, memory.HashOfBytes(send.Word(request, 1)), &s.limits, v)
}

// WantsSlot implements send.Backend.
func (s *sender) WantsSlot() bool { return s.backend != nil && s.backend.WantsSlot() }

// OpenDedicated implements send.Backend.
func (s *sender) OpenDedicated(ctx context.Context, keys []string, last error) (send.Dedicated, error) {
	if s.backend == nil {
		return nil, redis.ErrSession.New("%s has no sessions", send.Describe(s.to))
	}
	d, err := s.backend.OpenDedicated(ctx, keys, last)
	if err != nil {
		return nil, err
	}
	return &dedicated{send.ChangingDedicated{Dedicated: d, Changed: s.core.changed}}, nil
}

// SendEncoded implements send.Backend.
func (s *sender) SendEncoded(r *send.Request, cb redis.Future, n uint64) {
	if r.Is("SWAPDB") {
		s.refused(waiter{cb, n}, errSwap())
		return
	}
	switch s.read(r, waiter{cb, n}) {
	case isAnswered:
		return
	case isFirst:
		s.core.backend.SendEncoded(r, cb, n)
		return
	}
	cb = s.watching(cb, r.Changes())
	if s.backend == nil {
		s.to.Send(redis.Request{Cmd: r.Cmd, Args: r.Args()}, cb, n)
		return
	}
	s.backend.SendEncoded(r, cb, n)
}

// source says where the reply to a request comes from.
type source uint8

const (
	isForwarded source = iota // from the servers, as if there were no cache
	isFirst                   // from a master; the reply is not kept
	isAnswered                // from memory or over a tracking socket
)

// read answers a request from memory or over a tracker, and then returns isAnswered. Otherwise the caller must send
// the request to the source that read returns.
func (s *sender) read(r *send.Request, w waiter) source {
	q, from := s.question(r)
	if from != isAnswered {
		return from
	}
	switch kept, how := s.enter(q, w); how {
	case memory.IsThere:
		s.recalled(w, kept)
	case memory.Asks:
		q.send(r)
	}
	return isAnswered
}

// question decides how to answer a request whose reply is not in memory. If the answer is isAnswered, it
// returns a reading to send to a tracking socket.
func (s *sender) question(r *send.Request) (*reading, source) {
	if !r.ReplicaSafe || s.limits.Age == 0 || r.Slot == send.ManySlots {
		return nil, isForwarded
	}
	f, l := s.nodes.feed(r.Slot)
	if f == nil {
		return nil, isForwarded
	}
	var room [8][]byte
	keys, isText := appendKeysOfRead(room[:0], r, f.protocol)
	if len(keys) == 0 {
		return nil, isForwarded
	}
	listed := s.listed(keys)
	if !s.limits.All && !listed {
		return nil, isForwarded
	}
	key := memory.HashOfBytes(keys[0])
	if l != nil && !s.store.Admits(r.Buf, key) {
		return nil, isFirst
	}
	at := memory.Now()
	if l == nil || !l.Holds(at) {
		s.passed.Add(1)
		return nil, isForwarded
	}
	q := newReading(r.Buf)
	q.core, q.from, q.isText, q.cmd, q.slot = s.core, f, isText, r.Cmd, r.Slot
	q.Lease, q.Sent, q.Listed, q.Key = l, at, listed, key
	for _, key := range keys[1:] {
		q.More = append(q.More, memory.HashOfBytes(key))
	}
	return q, isAnswered
}

// enter adds w to the callers that wait for the reply to q. It returns memory.Asks if the caller must send
// q; otherwise the caller must not use q any more.
func (s *sender) enter(q *reading, w waiter) (kept memory.Value, how memory.Joined) {
	kept, how = s.store.Join(&q.Read, memory.Waiter(w), s.limits)
	if how != memory.Asks {
		q.recycle()
		return kept, how
	}
	// A write to a new master of the slot either has changed the lease by now, or will kill the tags that q
	// has taken.
	if _, l := s.nodes.feed(q.slot); l != q.Lease {
		q.elsewhere(nil)
		return kept, memory.Waits
	}
	return kept, how
}

// Send implements redis.Sender.
func (s *sender) Send(req redis.Request, cb redis.Future, n uint64) {
	scratch := send.GetScratch()
	defer send.PutScratch(scratch)
	var err error
	scratch.Request, scratch.Buf, err = backend.Encode(scratch.Buf, req, s.WantsSlot())
	r := &scratch.Request
	switch {
	case err != nil:
		s.to.Send(req, cb, n) // resolves cb with the error
	case r.Is("SWAPDB"):
		s.refused(waiter{cb, n}, errSwap().WithProperty(redis.EKRequest, req))
	case cb != nil && send.IsCancelled(cb):
		s.to.Send(req, s.watching(cb, r.Changes()), n) // calls Cancelled again, and refuses the request if it is still cancelled
	case s.recall(r, waiter{cb, n}):
	default:
		switch s.read(r, waiter{cb, n}) {
		case isFirst:
			s.masters.Send(req, cb, n)
		case isForwarded:
			s.to.Send(req, s.watching(cb, r.Changes()), n)
		}
	}
}

// watching returns a future that evicts the keys in change before it passes the result on to cb.
func (s *sender) watching(cb redis.Future, change send.Changes) redis.Future {
	if change.Empty() {
		return cb
	}
	return &send.ChangingFuture{Forward: send.Forward{To: cb}, Changes: change, Changed: s.core.changed}
}

// SendTransaction implements redis.Sender. No part of a transaction is answered from memory.
func (s *sender) SendTransaction(reqs []redis.Request, cb redis.Future, start uint64) {
	var change send.Changes
	for _, req := range reqs {
		r, err := encoded(req)
		switch {
		case err != nil:
			continue // SendTransaction will refuse the whole transaction
		case r.Is("SWAPDB"):
			s.refused(waiter{cb, start}, errSwap().WithProperty(redis.EKRequest, req))
			return
		}
		change.Add(r.Changes())
	}
	s.to.SendTransaction(reqs, s.watching(cb, change), start)
}

func encoded(req redis.Request) (*send.Request, error) {
	r, _, err := backend.Encode(nil, req, false)
	return &r, err
}

// Scanner implements redis.Sender: iterators are not cached.
func (s *sender) Scanner(opts redis.ScanOpts) redis.Scanner { return s.to.Scanner(opts) }

// EachShard implements redis.Sender. Requests that f sends are not answered from memory.
func (s *sender) EachShard(f func(redis.Sender, error) bool) {
	if f == nil {
		return
	}
	s.to.EachShard(func(shard redis.Sender, err error) bool {
		if shard == nil {
			return f(nil, err)
		}
		return f(&sender{core: s.core, to: shard, backend: send.BackendOf[redis.Future](shard)}, err)
	})
}

// Close implements redis.Sender: it closes the cache and the sender of the servers.
func (s *sender) Close() {
	s.core.close()
	s.to.Close()
}
