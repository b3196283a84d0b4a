package rediscluster

import (
	"context"
	"sync/atomic"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/route"
)

// many is one call of SendMany. It keeps the requests encoded, so that each can
// be sent again. It is the future of those that are sent alone.
type many struct {
	send.Forward
	w     *routed
	reqs  []send.Request
	start uint64
	parts []*part
	alone atomic.Int64 // requests that are sent alone and have no result yet
}

// part holds the requests of a call that go to one link, as one batch. It is the
// future of the batch.
type part struct {
	*many
	link  *route.Link
	index []int        // of the requests in the call
	open  atomic.Int64 // requests of the batch that have no result yet
	stays bool         // a request of the part has to be answered by this link
}

// sendMany is SendMany with a policy.
func (w *routed) sendMany(reqs []redis.Request, cb redis.Future, start uint64) {
	if len(reqs) == 1 && !w.spec.Replicas && !redis.Blocking(reqs[0].Cmd) { // a batch may not contain a blocking one
		w.send(reqs[0], cb, start)
		return
	}
	m := &many{Forward: send.Forward{To: cb}, w: w, start: start}
	if err := m.Cancelled(); err != nil {
		m.reject(reqs, errCancelled(err), -1)
		return
	}
	if bad, err := m.encode(reqs); err != nil {
		m.reject(reqs, err, bad)
		return
	}
	alone := m.divide()
	if w.spec.Replicas && m.Caller() != nil {
		send.Queued(cb, send.Ticket{Queue: m, Moves: true})
	}
	defer func() { send.Each(0, len(alone), func(i int) { m.sendAlone(alone[i]) }) }()
	send.Each(0, len(m.parts), func(i int) {
		p := m.parts[i]
		w.c.accepted.Add(int64(len(p.index)))
		if w.c.draining.Load() {
			w.c.accepted.Add(-int64(len(p.index)))
			alone = append(alone, p.index...)
			m.alone.Add(p.open.Swap(0))
			return
		}
		reqs := make([]*send.Request, len(p.index))
		for i, at := range p.index {
			reqs[i] = &m.reqs[at]
		}
		p.link.Backend.SendEncodedBatch(reqs, p, 0, 0)
	})
}

// sendAlone sends a single request. If the request is refused and its future panics, the other
// requests are still sent.
func (m *many) sendAlone(i int) {
	defer m.w.c.recovered()
	m.attemptOf(i).start(m.w)
}

// encode encodes the requests. If one is malformed, it returns its index.
func (m *many) encode(reqs []redis.Request) (bad int, _ *errorx.Error) {
	var buf []byte
	m.reqs = make([]send.Request, len(reqs))
	for i, req := range reqs {
		r := &m.reqs[i]
		var err error
		if *r, buf, err = backend.Encode(buf, req, true); err != nil {
			return i, redis.AsErrorx(err)
		}
		if r.Shared != command.Allowed {
			if err := redis.CheckRequest(req, m.w.c.opts.HostOpts.ScriptMode); err != nil {
				return i, redis.AsErrorx(err)
			}
		}
		r.Caller = m.Caller()
	}
	return 0, nil
}

// reject resolves all requests with err. If one of them is malformed, bad is its
// index, and the others get an error that names it.
func (m *many) reject(reqs []redis.Request, err *errorx.Error, bad int) {
	others := err
	if bad >= 0 {
		others = redis.ErrBatchFormat.Wrap(err, "the request at index %d of the batch is malformed", bad)
	}
	others = others.WithProperty(redis.EKRequests, reqs)
	send.Each(0, len(reqs), func(i int) {
		of := others
		if i == bad {
			of = err
		}
		m.resolve(i, of.WithProperty(redis.EKRequest, reqs[i]))
	})
}

// resolve resolves a request. If its future panics, the others are still resolved.
func (m *many) resolve(i int, res any) {
	defer m.w.c.recovered()
	send.Resolve(m.To, res, m.start+uint64(i))
}

// divide assigns the requests to links, in order. It returns those that can't be sent at once, or at all.
func (m *many) divide() (alone []int) {
	seed := route.FixedSeed(m.w.c.opts.RoundRobinSeed.Current()) // one choice for the whole call
	t := m.w.c.topology.Load()
	var spec routeSpec
	for i := range m.reqs {
		var l *route.Link
		if err := m.w.specOf(&m.reqs[i], &spec); err == nil {
			spec.Seed = seed
			l = t.Route(&spec.Spec)
		}
		if l == nil {
			alone = append(alone, i)
			continue
		}
		p := findPart(m.parts, l)
		if p == nil {
			p = &part{many: m, link: l}
			m.parts = append(m.parts, p)
		}
		p.index = append(p.index, i)
		p.open.Add(1)
		p.stays = p.stays || !spec.Replicas || !m.reqs[i].ReadOnly
	}
	m.alone.Store(int64(len(alone)))
	return alone
}

// attemptOf returns an attempt for the request with index i.
func (m *many) attemptOf(i int) *attempt {
	a := m.w.c.newAttempt(&m.reqs[i], m, m.start+uint64(i))
	a.ofUser()
	return a
}

// Resolve implements redis.Future.
func (m *many) Resolve(res any, n uint64) {
	defer m.alone.Add(-1) // last: see many.Leave
	send.Resolve(m.To, res, n)
}

// findPart returns the part that a request for l joins, or nil. The part may go to another
// connection to the same node, which was chosen before l came up; so requests to one node keep
// their order.
func findPart(parts []*part, l *route.Link) *part {
	for _, p := range parts {
		if p.link.Node == l.Node {
			return p
		}
	}
	return nil
}

// Resolve implements redis.Future. After an error the request continues alone.
func (p *part) Resolve(res any, n uint64) {
	err, failed := res.(error)
	if !failed {
		p.w.c.accepted.Add(-1)
		p.resolve(p.index[n], res)
		p.open.Add(-1) // last: see many.Leave
		return
	}
	p.alone.Add(1)
	p.open.Add(-1)
	a := p.attemptOf(p.index[n])
	a.link, a.accepted = p.link, true
	_ = p.w.specOf(&a.req, &a.spec)
	a.Resolve(err, 0)
}

// Stalled implements send.Staller, for a caller that waits for the whole call.
func (m *many) Stalled() context.Context { return m.w.c.rules.Stalled() }

// Leave implements send.Staller. The reads that have no result leave together, once all of them wait for links that
// have stalled: before that, the caller would gain nothing. For the same reason the budget is taken for all of them,
// or for none.
func (m *many) Leave() bool {
	var leaving route.Departure
	for _, p := range m.parts {
		reads := int(p.open.Load())
		if reads == 0 {
			continue
		}
		if p.stays || !p.link.Lets() {
			return false
		}
		leaving.Add(p.link, reads)
	}
	if leaving == (route.Departure{}) || m.alone.Load() > 0 { // alone is read last: a request that leaves its part is added there first
		return false
	}
	return m.w.c.rules.Leave(leaving)
}

// Withdraw implements send.Withdrawer.
func (*many) Withdraw(uint64) bool { return false }
