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
	opts.Addrs = nil // it is for NewReplicated
	return newCluster(ctx, addrs, opts, func(c *Cluster) source {
		c.rules.Sharded = true
		return &nodeSource{c: c, seeds: slices.Clone(addrs)}
	})
}

// start implements source: it asks all addresses that the user gave, over separate connections.
func (s *nodeSource) start(ctx context.Context) (*topology.Layout, error) {
	var views []topology.View
	var failure error = ErrClusterSlots.New("no answer in time")
	ctx, cancel := context.WithTimeout(ctx, s.c.askTimeout())
	defer cancel()
	answers := make(chan func() bool, len(s.seeds))
	for _, seed := range s.seeds {
		go func() { // ends with ctx
			v, err := s.c.askSeed(ctx, seed)
			answers <- func() bool {
				if err != nil {
					s.c.report(LogInitialNodeSkipped{Address: seed, Error: err})
					failure = preferPermanent(failure, err)
					return false
				}
				views = append(views, v)
				return true
			}
		}()
	}
	gather(s.c.ctx, answers, len(s.seeds), timing.Times(s.c.askTimeout(), 2), nil) // ctx ends them before
	if len(views) == 0 {
		return nil, errorx.Decorate(redis.AsErrorx(failure), "none of the given addresses tells the slots of a cluster")
	}
	l := topology.Merge(views)
	if l == nil {
		return nil, s.c.withCluster(ErrClusterConfigEmpty.New("no slot belongs to any node"))
	}
	return l, nil
}

// read implements source: it asks connected nodes. If none of them knows an owner of any slot, it
// asks the seeds.
func (s *nodeSource) read(ctx context.Context, _ bool) *topology.Layout {
	l := topology.Merge(s.askNodes(ctx))
	if l == nil {
		l, _ = s.start(ctx)
	}
	if l != nil {
		s.masterOnly.mark(l)
	}
	return l
}

// askAtMost bounds how many nodes are asked at once. It is large enough to ask all nodes
// of most clusters, because only the two masters of a migration know about it.
const askAtMost = 16

// askNodes asks connected nodes, and returns the views of those that answer in time.
func (s *nodeSource) askNodes(ctx context.Context) (views []topology.View) {
	t := s.c.topology.Load()
	nodes := slices.Clone(t.Nodes)
	rand.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	// Masters know their own slots best and first.
	sort.SliceStable(nodes, func(i, j int) bool { return !nodes[i].Replica && nodes[j].Replica })
	// Room for all, so that late answers block no goroutine.
	answers := make(chan func() bool, 1+askAtMost)
	asked := 0
	for _, n := range nodes {
		l := n.Pick(s.c.opts.RoundRobinSeed, nil)
		if l == nil || asked == askAtMost {
			continue
		}
		asked++
		askView(l, func(v topology.View, err error) {
			answers <- func() bool {
				if err != nil {
					s.c.report(LogClusterSlotsError{Conn: l.Conn, Error: err})
					return false
				}
				views = append(views, v)
				return true
			}
		})
	}
	if s.masterOnly.ask(t, answers) {
		asked++
	}
	gather(ctx, answers, asked, s.c.askTimeout(), nil)
	return views
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

// probe implements source: it asks one master, and reports whether its masters differ from
// those of the topology. One is enough, because masters learn of a new one within milliseconds
// over the cluster bus.
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

// askSeed resolves one address and asks the server there. If the name has several addresses, it also
// asks the next one when one has failed or has not answered within askGrace. It returns the first
// answer.
func (c *Cluster) askSeed(ctx context.Context, seed string) (v topology.View, failure error) {
	host, addrs, err := lookUp(ctx, seed)
	if err != nil {
		return v, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan func() (good bool), len(addrs))
	for asked, heard := 0, 0; heard < len(addrs); {
		var late <-chan time.Time
		if asked < len(addrs) {
			addr := addrs[asked]
			asked++
			go func() { // ends with ctx
				view, err := c.askAddr(ctx, addr, host)
				answers <- func() bool {
					v, failure = view, preferPermanent(failure, err)
					return err == nil
				}
			}()
			late = time.After(askGrace)
		}
		select {
		case hear := <-answers:
			if heard++; hear() {
				return v, nil
			}
		case <-late:
		}
	}
	return v, failure
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
	return s.c.resolveHosts(ctx, s.seeds, nil)
}
