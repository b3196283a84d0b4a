package rediscluster

import (
	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// many is one call of SendMany.
type many struct {
	c      *Cluster
	policy ReplicaPolicyEnum
	reqs   []redis.Request // the caller's, until SendMany returns
	kept   []wire.Request
	cb     redis.Future
	start  uint64
}

// group is those requests of a call that go to one link, as one batch. It is
// the future of the batch.
type group struct {
	m     *many
	link  *link
	index []int // of the requests in the call
}

// sendMany is SendMany with a policy.
func (c *Cluster) sendMany(policy ReplicaPolicyEnum, reqs []redis.Request, cb redis.Future, start uint64) {
	if len(reqs) == 1 {
		c.send(policy, reqs[0], cb, start)
		return
	}
	m := &many{c: c, policy: policy, reqs: reqs, cb: cb, start: start}
	if i, err := m.keep(); err != nil {
		m.refuse(i, err)
		return
	}
	for _, g := range m.groups() {
		g.send()
	}
}

// keep encodes the requests. Of one that is malformed it returns the index.
func (m *many) keep() (int, *errorx.Error) {
	var buf []byte
	m.kept = make([]wire.Request, len(m.reqs))
	for i, req := range m.reqs {
		var err error
		if m.kept[i], buf, err = redis.EncodeRequest(buf, req, true); err != nil {
			return i, redis.AsErrorx(err)
		}
		if r := &m.kept[i]; r.Shared != command.Allowed || r.Single != command.Allowed {
			if err := redis.CheckRequest(req, m.c.opts.HostOpts.ScriptMode); err != nil {
				return i, redis.AsErrorx(err)
			}
		}
	}
	return 0, nil
}

// refuse resolves all, since the request of an index is malformed.
func (m *many) refuse(bad int, err *errorx.Error) {
	rest := redis.ErrBatchFormat.Wrap(err, "request %d of the batch is malformed", bad).
		WithProperty(redis.EKRequests, m.reqs)
	for i := range m.reqs {
		if i == bad {
			m.resolve(i, err.WithProperty(redis.EKRequest, m.reqs[i]))
		} else {
			m.resolve(i, rest.WithProperty(redis.EKRequest, m.reqs[i]))
		}
	}
}

func (m *many) resolve(i int, res any) {
	if m.cb != nil {
		m.cb.Resolve(res, m.start+uint64(i))
	}
}

// groups deals the requests out to links, in their order. Those that can't be
// sent at once go their own ways.
func (m *many) groups() (groups []*group) {
	seed := fixedSeed(m.c.opts.RoundRobinSeed.Current()) // one choice for the whole call
	t := m.c.topology.Load()
	for i := range m.kept {
		r := &m.kept[i]
		var l *link
		if refusal(r) == nil {
			l = t.route(way{slot: r.Slot, policy: m.policy, replicas: m.policy.allowsReplica(r.ReplicaSafe), seed: seed})
		}
		if l == nil {
			m.c.send(m.policy, m.reqs[i], m.cb, m.start+uint64(i))
			continue
		}
		g := findGroup(groups, l)
		if g == nil {
			g = &group{m: m, link: l}
			groups = append(groups, g)
		}
		g.index = append(g.index, i)
	}
	return groups
}

func findGroup(groups []*group, l *link) *group {
	for _, g := range groups {
		if g.link == l {
			return g
		}
	}
	return nil
}

// fixedSeed is a seed of one number.
type fixedSeed uint32

// Current implements RoundRobinSeed.
func (s fixedSeed) Current() uint32 { return uint32(s) }

// send sends the group as one batch.
func (g *group) send() {
	reqs := g.m.reqs
	if len(g.index) != len(reqs) {
		reqs = make([]redis.Request, len(g.index))
		for i, at := range g.index {
			reqs[i] = g.m.reqs[at]
		}
	}
	g.link.pending.Add(int64(len(reqs)))
	if g.m.c.draining.Load() { // looked at once they are counted, as in course.launch
		for i := range reqs {
			g.alone(i).giveUp(g.m.c.errClosed())
		}
		return
	}
	g.link.conn.SendBatch(reqs, g, 0)
}

// Resolve implements redis.Future. After an error the request goes on alone.
func (g *group) Resolve(res any, n uint64) {
	if err, failed := res.(error); failed {
		g.alone(int(n)).Resolve(err, 0)
		return
	}
	g.link.pending.Add(-1)
	g.m.resolve(g.index[n], res)
}

// alone makes an attempt, on the group's link, of the request of an index.
func (g *group) alone(n int) *attempt {
	i := g.index[n]
	a := g.m.c.newAttempt(g.m.cb, g.m.start+uint64(i))
	a.keep(&g.m.kept[i])
	a.raw()
	a.direct(g.m.policy)
	a.at, a.held = g.link, &g.link.pending
	return a
}

// NamesRequests implements wire.Namer: an attempt does it.
func (g *group) NamesRequests() {}

// Waits implements wire.Caller.
func (g *group) Waits() bool { return wire.Waits(g.m.cb) }

// GiveRead implements wire.Caller.
func (g *group) GiveRead(r wire.ReadRight) bool { return wire.GiveRead(g.m.cb, r) }

// Cancelled implements redis.Future.
func (g *group) Cancelled() error {
	if g.m.cb == nil {
		return nil
	}
	return g.m.cb.Cancelled()
}
