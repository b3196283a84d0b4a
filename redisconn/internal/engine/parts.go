package engine

import (
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
)

// A part ends after partRequests requests or partBytes bytes. If the round trip is longer than
// partTrip, parts are larger in proportion, so that two of them keep the server busy. partTrips
// bounds the proportion.
const (
	partRequests = 512
	partBytes    = 64 << 10
	partTrip     = 500 * time.Microsecond
	partTrips    = 1000
)

// divided is a large batch of a caller that waits for it. It enters in parts, so that other
// callers' requests can go between them. Two parts are pending at a time: the last reply of part i
// lets part i+2 enter.
//
// The caller's requests stay in order: the caller sends nothing else until all parts are answered,
// and once it has left, no further part enters. No part enters after a session was lost. So if one
// request of the batch is not sent, no later one is.
type divided struct {
	send.Forward // passes on to the future of the batch
	p            *Pipe
	losses       uint64 // the number of lost sessions when the first part enters
	reqs         []*send.Request
	n            uint64 // number of the first request
	queuer       send.Queuer
	ends         []int // where each part ends in reqs
}

// A divided batch keeps reqs until all parts have entered, so the memory of reqs must not be reused
// before. That holds because a divided batch is too large for a Scratch that is kept for reuse:
// otherwise these constants would not compile.
const (
	_ = uint(2*partRequests - send.BatchKept)
	_ = uint(2*partBytes - send.BufferKept)
)

// divide divides requests that enter together, if a caller waits for them and they are many or
// large. Otherwise it returns nil.
func (p *Pipe) divide(reqs []*send.Request, e *Entry) *divided {
	if len(reqs) <= 1 || reqs[0].Caller == nil || e.Transaction || e.Asking || p.opts.Script || !reqs[0].Caller.Waits() {
		return nil // in ScriptMode a batch may contain MULTI
	}
	if l := loadOf(reqs); l.requests <= 2*partRequests && l.bytes <= 2*partBytes {
		return nil
	}
	times := 1 + int(min(p.opts.Trip()/partTrip, partTrips))
	ends := endsOf(reqs, load{times * partRequests, times * partBytes})
	if len(ends) <= 2 {
		return nil
	}
	return &divided{Forward: send.Forward{To: e.Future}, p: p, reqs: reqs, n: e.N, queuer: e.Queuer, ends: ends}
}

// endsOf returns where each part of reqs ends. A part ends with the request that reaches one of the
// bounds in most.
func endsOf(reqs []*send.Request, most load) (ends []int) {
	var l load
	for i, r := range reqs {
		l = l.plus(load{1, len(r.Buf)})
		if l.requests >= most.requests || l.bytes >= most.bytes {
			ends, l = append(ends, i+1), load{}
		}
	}
	if l.requests > 0 {
		ends = append(ends, len(reqs))
	}
	return ends
}

// part is the future of all requests of one part.
type part struct {
	*divided
	i int
}

var _ resp.ReplyDecoder = (*part)(nil)

// begin returns the index of the first request of part i.
func (d *divided) begin(i int) int {
	if i == 0 {
		return 0
	}
	return d.ends[i-1]
}

// requests returns the requests of part i.
func (d *divided) requests(i int) []*send.Request { return d.reqs[d.begin(i):d.ends[i]] }

// entry returns the entry of part i.
func (d *divided) entry(i int) *Entry {
	return &Entry{Future: &part{d, i}, N: d.n + uint64(d.begin(i)), Queuer: d.queuer}
}

// Resolve implements redis.Future.
func (p *part) Resolve(res any, n uint64) {
	if last := p.n + uint64(p.ends[p.i]) - 1; n == last && p.i+2 < len(p.ends) {
		p.enter(p.i + 2)
	}
	send.Resolve(p.To, res, n)
}

// DecodeReply implements resp.ReplyDecoder. It is called only if To implements it.
func (p *part) DecodeReply(d *resp.Decoder, n uint64) (any, error) {
	return p.To.(resp.ReplyDecoder).DecodeReply(d, n)
}

// enter enters part i, or resolves its requests if it is refused.
func (d *divided) enter(i int) {
	s, duty, refused := d.p.enterPart(d, i)
	if refused == nil {
		d.p.do(duty, s)
		return
	}
	reqs, e := d.requests(i), d.entry(i)
	d.p.CountLeft(uint64(len(reqs)), 0)
	refused = d.p.opts.WithConn(refused)
	send.Each(0, len(reqs), func(j int) {
		err := refused
		if reqs[j].Plain {
			err = err.WithProperty(redis.EKRequest, requestOf(reqs[j].Buf))
		}
		d.p.Resolve(e.Future, err, e.N+uint64(j))
	})
}

// putFirst puts the first two parts of d into the open batch, and holds room for the others.
func (q *queue) putFirst(d *divided) (tells duty) {
	d.losses = q.stats.Disconnects
	q.held = q.held.plus(loadOf(d.reqs[d.ends[1]:]))
	return q.addOpen(d.requests(0), d.entry(0), false) | q.addOpen(d.requests(1), d.entry(1), false)
}

// enterPart puts part i into the open batch. The whole batch was admitted with its first parts. But
// the part is refused if their session has ended, if no more requests are written, or if the caller
// has left.
func (q *queue) enterPart(d *divided, i int) (s *Session, _ duty, refused *errorx.Error) {
	reqs, e := d.requests(i), d.entry(i)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held = q.held.minus(loadOf(reqs))
	switch {
	case q.state == Closed, q.withheld.Load():
		refused = sock.Refused(q.opts.Ctx)
	case q.stats.Disconnects != d.losses:
		refused = sock.ErrNotConnected.New("the session has ended").WithProperty(errs.EKOrdered, true)
	case d.Cancelled() != nil: // safe under the lock: it is the library's own future
		refused = redis.ErrRequestWithdrawn.New("the caller has left")
	default:
		tells := q.addOpen(reqs, e, false)
		s, rights := q.duty()
		return s, tells | rights, nil
	}
	q.admitWaiting()
	return nil, 0, refused
}
