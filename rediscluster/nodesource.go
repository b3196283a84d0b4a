package rediscluster

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/topology"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// nodeSource is the source of a topology that the nodes of a cluster tell.
type nodeSource struct {
	c          *Cluster
	seeds      []string
	masterOnly masterOnly
}

// NewCluster makes a Cluster. It asks all of addrs (host:port) for the slots; one
// answer is enough. The cluster lives until Close, or until ctx is done.
//
// If none answers, the error is that of the last one, or one that will not pass by
// itself (trait [redisconn.ErrTraitInitPermanent]: wrong password, TLS failure).
// Addresses that can't be used are reported by [LogInitialNodeSkipped]. One that may be a
// URL, with a password, is an [ErrAddressHostname], which does not show it.
func NewCluster(ctx context.Context, addrs []string, opts Opts) (*Cluster, error) {
	opts.Addrs = nil // it is for NewReplicated
	return newCluster(ctx, addrs, opts, func(c *Cluster) source {
		c.sharded = true
		return &nodeSource{c: c, seeds: slices.Clone(addrs)}
	})
}

// start implements source.
func (s *nodeSource) start(context.Context) (*topology.Layout, error) {
	views, failure := s.askSeeds()
	if len(views) == 0 {
		if failure == nil {
			failure = ErrClusterSlots.New("no answer in time")
		}
		return nil, errorx.Decorate(failure, "none of %d addresses of the cluster answers", len(s.seeds))
	}
	l := topology.Merge(views)
	if l == nil {
		return nil, s.c.withCluster(ErrClusterConfigEmpty.New("no slot belongs to any node"))
	}
	return l, nil
}

// read implements source: it asks nodes that are connected, or else the seeds.
func (s *nodeSource) read(bool) *topology.Layout {
	views := s.askNodes()
	if len(views) == 0 {
		views, _ = s.askSeeds()
	}
	l := topology.Merge(views)
	if l != nil {
		s.masterOnly.mark(l)
	}
	return l
}

// askNodes asks connected nodes what they think, those that answer in time.
func (s *nodeSource) askNodes() []topology.View {
	t := s.c.topology.Load()
	nodes := slices.Clone(t.nodes)
	rand.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	keeper := s.masterOnly.node(t)
	rank := func(n *node) int {
		switch {
		case n == keeper:
			return 0
		case !n.replica: // masters know their own slots best, and first
			return 1
		}
		return 2
	}
	slices.SortStableFunc(nodes, func(a, b *node) int { return rank(a) - rank(b) })
	p := newPoll()
	for _, n := range nodes {
		switch l := n.pick(s.c.opts.RoundRobinSeed, nil); {
		case l == nil || p.asked == askAtMost:
		case n == keeper:
			p.ask(l, readMasterOnly)
		default:
			p.ask(l)
		}
		if l := n.upLink(); n.replica && l != nil {
			p.askExtra(func(done func()) { n.askSync(l.conn, done) })
		}
	}
	return p.await(s.c, func(more any) { s.masterOnly.hear(keeper, more) })
}

// news implements source: nodes have to be asked.
func (s *nodeSource) news() <-chan struct{} { return nil }

// probe implements source: it asks one master, and reports whether it knows other masters than the
// topology has. Others learn of a new one within milliseconds, by the cluster's bus.
func (s *nodeSource) probe() (news bool) {
	defer s.c.recovered()
	t := s.c.topology.Load()
	var up []*link
	for _, sh := range t.shards {
		if l := sh.master.pick(s.c.opts.RoundRobinSeed, nil); l != nil && l.state.Load() == linkUp {
			up = append(up, l)
		}
	}
	if len(up) == 0 {
		return false
	}
	l := up[rand.N(len(up))]
	answer := make(chan any, 1)
	l.conn.Send(redis.Req("CLUSTER SLOTS"), wire.Own(func(res any, _ uint64) { answer <- res }), 0)
	late := time.NewTimer(askGrace)
	defer late.Stop()
	select {
	case res := <-answer:
		v, err := topology.ParseView(l.node.addr, res, nil)
		return err == nil && v.Contradicts(&t.layout)
	case <-late.C:
	case <-s.c.ctx.Done():
	}
	return false
}
