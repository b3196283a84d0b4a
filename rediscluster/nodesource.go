package rediscluster

import (
	"context"
	"math/rand/v2"
	"slices"
	"sort"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/route"
	"github.com/joomcode/redispipe/rediscluster/internal/topology"
	"github.com/joomcode/redispipe/redisconn"
)

// nodeSource is the source that reads the topology from the nodes of a cluster.
type nodeSource struct {
	c          *Cluster
	seeds      []string
	masterOnly masterOnly
	kin        topology.Kin
	// silent is the time when the nodes of the cluster stopped returning the slots; zero while one of
	// them does.
	silent time.Time
}

// NewCluster returns a Cluster. It asks all of addrs (host:port) for the slots; one
// answer is enough.
//
// If ctx has a deadline, ctx limits only the call to NewCluster, and the cluster lives until Close,
// even if ctx is cancelled. If ctx has no deadline, the cluster lives until Close or until ctx is
// cancelled.
//
// If no server answers, NewCluster returns an error that retrying cannot fix, if there is one
// (trait [redisconn.ErrTraitInitPermanent]: wrong password, TLS failure), and otherwise the last
// error. It reports addresses that can't be used as [LogInitialNodeSkipped]. If an address
// may be a URL with a password, it returns an [ErrAddressHostname], which does not show it.
func NewCluster(ctx context.Context, addrs []string, opts Opts) (*Cluster, error) {
	opts.Addrs = nil // only NewReplicated uses Addrs
	return newCluster(ctx, addrs, opts, func(c *Cluster) source {
		c.rules.Sharded = true
		return &nodeSource{c: c, seeds: slices.Clone(addrs)}
	})
}

// start implements source.
func (s *nodeSource) start(ctx context.Context) (*topology.Layout, error) {
	l, err := s.askSeeds(ctx, nil)
	if l != nil {
		s.learn()
	}
	return l, err
}

// read implements source: it asks connected nodes. It also asks the seeds if no node of the cluster
// names an owner of any slot, and until every slot has had an owner once.
func (s *nodeSource) read(ctx context.Context, _ bool) *topology.Layout {
	nodes := s.askNodes(ctx)
	l := s.kin.OfNodes(nodes)
	if l == nil && s.silent.IsZero() {
		s.silent = time.Now()
	}
	if l == nil || !s.kin.Whole() {
		if better, _ := s.askSeeds(ctx, nodes); better != nil {
			l = better
		}
	}
	if l != nil {
		s.learn()
		s.masterOnly.mark(l)
	}
	return l
}

// learn records the identities of the nodes in a new layout.
func (s *nodeSource) learn() {
	s.silent = time.Time{}
	members := s.kin.Members()
	s.c.members.Store(&members)
}

// strangersAfter is how long a client stays with the servers that it knows while they are silent,
// although its seeds lead to others. A restart or a freeze is usually shorter.
const strangersAfter = 10 * time.Second

// mayLeave reports whether the client may switch to the other cluster to which the seeds lead: the
// present one has been silent for long enough, or all its masters' addresses lead to other servers.
func (s *nodeSource) mayLeave() bool {
	if s.c.opts.RefuseStrangers {
		return false
	}
	replaced := func(shard *route.Shard) bool {
		failure := shard.Master.Failure()
		return failure != nil && redis.AsErrorx(failure.Err).IsOfType(redisconn.ErrStranger)
	}
	return !s.silent.IsZero() && time.Since(s.silent) >= strangersAfter ||
		!slices.ContainsFunc(s.c.topology.Load().Shards, func(shard *route.Shard) bool { return !replaced(shard) })
}

// askSeeds asks the servers at all addresses that the user gave, over separate connections. nodes holds
// the views of the nodes that were already asked.
func (s *nodeSource) askSeeds(ctx context.Context, nodes []topology.View) (*topology.Layout, error) {
	told := make([][]topology.View, len(s.seeds))
	var failure error
	asking, cancel := context.WithTimeout(ctx, s.c.askNewTimeout())
	defer cancel()
	answers := make(chan func() bool, len(s.seeds))
	for i, seed := range s.seeds {
		go func() { // ends with asking
			views, err := s.c.askSeed(asking, seed)
			answers <- func() bool {
				if err != nil {
					s.c.report(LogInitialNodeSkipped{Address: seed, Error: err})
					failure = preferPermanent(failure, err)
				}
				told[i] = views
				return len(nodes) > 0 && err == nil || slices.ContainsFunc(views, topology.View.Whole)
			}
		}()
	}
	gather(s.c.ctx, answers, len(s.seeds), timing.Times(s.c.askNewTimeout(), 2), nil) // the context asking ends the goroutines earlier
	seeds := slices.Concat(told...)
	l, left := s.kin.OfSeeds(nodes, seeds, s.mayLeave())
	switch {
	case left:
		s.c.report(LogFollowsStrangers{Masters: l.Masters()})
	case l == nil && failure == nil && len(seeds) == 0:
		failure = ErrClusterSlots.New("no answer in time")
	case l == nil && failure == nil:
		failure = s.c.withCluster(ErrClusterConfigEmpty.New("no node has a slot"))
	}
	if l == nil {
		return nil, errorx.Decorate(redis.AsErrorx(failure), "none of the given addresses returns the slots of a cluster")
	}
	return l, nil
}

// askAtMost bounds how many nodes are asked at once. It is large enough to ask all nodes
// of most clusters, because only two masters know about a migration: the old and the new one.
const askAtMost = 16

// askNodes asks connected nodes, and returns the views of those that answer in time, masters first.
func (s *nodeSource) askNodes(ctx context.Context) []topology.View {
	t := s.c.topology.Load()
	nodes := slices.Clone(t.Nodes)
	rand.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	// Masters know their own slots best and first.
	sort.SliceStable(nodes, func(i, j int) bool { return !nodes[i].Replica && nodes[j].Replica })
	// Room for all, so that late answers block no goroutine.
	answers := make(chan func() bool, 1+askAtMost)
	var told [askAtMost][]topology.View // at most one view of each node, in the order of nodes
	asked := 0
	for _, n := range nodes {
		l := n.Pick(s.c.opts.RoundRobinSeed, nil)
		if l == nil || asked == askAtMost {
			continue
		}
		view := &told[asked]
		asked++
		askView(l, func(v topology.View, err error) {
			answers <- func() bool {
				if err != nil {
					s.c.report(LogClusterSlotsError{Conn: l.Conn, Error: err})
					return false
				}
				*view = []topology.View{v}
				return true
			}
		})
	}
	if s.masterOnly.ask(t, answers) {
		asked++
	}
	gather(ctx, answers, asked, s.c.askTimeout(), nil)
	return slices.Concat(told[:]...)
}

// viewQuestions are the requests that ask a node for its view.
var viewQuestions = []redis.Request{redis.Req("CLUSTER SLOTS"), redis.Req("CLUSTER NODES")}

// askView asks a node for the topology.
func askView(l *route.Link, answered func(topology.View, error)) {
	var results [2]any
	var left atomic.Int32
	left.Store(int32(len(results)))
	l.Conn.SendBatch(viewQuestions, send.Internal(func(res any, n uint64) {
		results[n] = res
		if left.Add(-1) == 0 {
			answered(topology.ParseView(l.Node.Addr, results[0], results[1]))
		}
	}), 0)
}

// probe implements source: it asks one master, and reports whether that names other masters than the
// topology. Asking one is enough, because all masters learn of a new master within milliseconds over
// the cluster bus.
func (s *nodeSource) probe() (news bool) {
	t := s.c.topology.Load()
	l := t.AnyMaster(&route.Spec{Seed: route.FixedSeed(rand.Uint32())})
	if l == nil || !l.Up() {
		return false
	}
	answers := make(chan func() bool, 1)
	l.Conn.Send(viewQuestions[0], send.Internal(func(res any, _ uint64) {
		answers <- func() bool {
			v, err := topology.ParseView(l.Node.Addr, res, nil)
			news = err == nil && v.Contradicts(&t.Layout)
			return true
		}
	}), 0)
	gather(s.c.ctx, answers, 1, askGrace, nil)
	return news
}

// preferPermanent returns the more useful of two errors: one that retrying cannot fix, or
// otherwise the latest.
func preferPermanent(old, latest error) error {
	if old != nil && redis.AsErrorx(old).HasTrait(redisconn.ErrTraitInitPermanent) {
		return old
	}
	return latest
}

// askSeed resolves one address and asks the server there. If the name has several addresses, it
// also asks the next one when a server has failed, knows only some slots, or has not answered
// within askGrace. It returns as soon as a server knows all slots.
func (c *Cluster) askSeed(ctx context.Context, seed string) (views []topology.View, failure error) {
	host, addrs, err := c.lookUp(ctx, seed)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan func() (whole bool), len(addrs))
	for asked, heard := 0, 0; heard < len(addrs); {
		var late <-chan time.Time
		if asked < len(addrs) {
			addr := addrs[asked]
			asked++
			go func() { // ends with ctx
				view, err := c.askAddr(ctx, addr, host)
				answers <- func() bool {
					if err != nil {
						failure = preferPermanent(failure, err)
						return false
					}
					views = append(views, view)
					return view.Whole()
				}
			}()
			late = time.After(askGrace)
		}
		select {
		case hear := <-answers:
			if heard++; hear() {
				return views, nil
			}
		case <-late:
		}
	}
	if len(views) > 0 {
		failure = nil
	}
	return views, failure
}

// askAddr asks the server at one address of a seed.
func (c *Cluster) askAddr(ctx context.Context, addr, host string) (topology.View, error) {
	conn, err := c.dialOnce(ctx, addr, host, c.opts.HostOpts.Role)
	if err != nil {
		return topology.View{}, err
	}
	defer conn.Close()
	answers := redis.SyncCtx{S: conn}.SendMany(ctx, viewQuestions)
	v, err := topology.ParseView(addr, answers[0], answers[1])
	if err != nil {
		return v, ErrClusterSlots.Wrap(err, "CLUSTER SLOTS").WithProperty(redis.EKAddress, addr)
	}
	return v, nil
}

// hosts implements source: it returns the hosts of the seeds, keyed by the addresses to which they
// resolve in time.
func (s *nodeSource) hosts() map[string]string {
	ctx, cancel := context.WithTimeout(s.c.ctx, s.c.askTimeout())
	defer cancel()
	hosts, _ := s.c.resolveHosts(ctx, s.seeds, nil)
	return hosts
}
