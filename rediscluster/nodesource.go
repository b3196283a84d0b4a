package rediscluster

import (
	"context"
	"math/rand/v2"
	"net"
	"slices"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/route"
	"github.com/joomcode/redispipe/internal/topology"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
	"github.com/joomcode/redispipe/redisconn"
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
		c.rules.Sharded = true
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
	nodes := slices.Clone(t.Nodes)
	rand.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	keeper := s.masterOnly.node(t)
	rank := func(n *route.Node) int {
		switch {
		case n == keeper:
			return 0
		case !n.Replica: // masters know their own slots best, and first
			return 1
		}
		return 2
	}
	slices.SortStableFunc(nodes, func(a, b *route.Node) int { return rank(a) - rank(b) })
	p := newPoll()
	for _, n := range nodes {
		switch l := n.Pick(s.c.opts.RoundRobinSeed, nil); {
		case l == nil || p.asked == askAtMost:
		case n == keeper:
			p.ask(l, readMasterOnly)
		default:
			p.ask(l)
		}
	}
	p.extra = make(chan struct{}, len(nodes))
	p.extras = t.AskReplicas(func() { p.extra <- struct{}{} })
	return p.await(s.c, func(more any) { s.masterOnly.hear(keeper, more) })
}

// news implements source: nodes have to be asked.
func (s *nodeSource) news() <-chan struct{} { return nil }

// probe implements source: it asks one master, and reports whether it knows other masters than the
// topology has. Others learn of a new one within milliseconds, by the cluster's bus.
func (s *nodeSource) probe() (news bool) {
	defer s.c.recovered()
	t := s.c.topology.Load()
	var up []*route.Link
	for _, sh := range t.Shards {
		if l := sh.Master.Pick(s.c.opts.RoundRobinSeed, nil); l != nil && l.Up() {
			up = append(up, l)
		}
	}
	if len(up) == 0 {
		return false
	}
	l := up[rand.N(len(up))]
	answer := make(chan any, 1)
	l.Conn.Send(redis.Req("CLUSTER SLOTS"), wire.Own(func(res any, _ uint64) { answer <- res }), 0)
	late := time.NewTimer(askGrace)
	defer late.Stop()
	select {
	case res := <-answer:
		v, err := topology.ParseView(l.Node.Addr, res, nil)
		return err == nil && v.Contradicts(&t.Layout)
	case <-late.C:
	case <-s.c.ctx.Done():
	}
	return false
}

// seedAnswer is what came of one of the addresses that the user gave.
type seedAnswer struct {
	seed string
	view topology.View
	err  error
}

// askSeeds asks all addresses that the user gave, over connections of its own.
// It returns what they say, or an error if none of them says anything.
func (s *nodeSource) askSeeds() ([]topology.View, error) {
	ctx, cancel := context.WithTimeout(s.c.ctx, s.c.askTimeout())
	defer cancel()
	answers := make(chan seedAnswer, len(s.seeds))
	for _, seed := range s.seeds {
		go func() { // ends with ctx
			v, err := s.c.askSeed(ctx, seed)
			answers <- seedAnswer{seed, v, err}
		}()
	}
	var views []topology.View
	var failure error
	late := time.NewTimer(2 * s.c.askTimeout()) // ctx ends the seeds before
	defer late.Stop()
	for range s.seeds {
		select {
		case a := <-answers:
			if a.err == nil {
				if len(views) == 0 {
					late.Reset(askGrace)
				}
				views = append(views, a.view)
				continue
			}
			s.c.report(LogInitialNodeSkipped{Address: a.seed, Error: a.err})
			failure = preferPermanent(failure, a.err)
		case <-late.C:
			return views, nil
		}
	}
	return views, failure
}

// preferPermanent returns the error that tells the user more: one that dialing again
// will not mend, and else the latest.
func preferPermanent(old, latest error) error {
	if old != nil && redis.AsErrorx(old).HasTrait(redisconn.ErrTraitInitPermanent) {
		return old
	}
	return latest
}

// askSeed resolves one address and asks the server there.
func (c *Cluster) askSeed(ctx context.Context, seed string) (topology.View, error) {
	if _, _, err := net.SplitHostPort(seed); err != nil {
		return topology.View{}, ErrAddressHostname.Wrap(err, "address is not host:port").WithProperty(redis.EKAddress, seed)
	}
	addr, err := lookUp(ctx, seed)
	if err != nil {
		return topology.View{}, err
	}
	host, _, _ := net.SplitHostPort(seed)
	opts := c.opts.HostOpts
	opts.ReconnectPause = -1
	opts.TLSConfig = tlsFor(opts, host)
	opts.Logger = redisconn.NoopLogger{}
	conn, err := redisconn.Connect(ctx, addr, opts)
	if err != nil {
		return topology.View{}, err
	}
	defer conn.Close()
	answers := make(chan answer, 1)
	askView(conn, addr, answers)
	select {
	case a := <-answers:
		if a.err != nil {
			return topology.View{}, ErrClusterSlots.Wrap(a.err, "CLUSTER SLOTS").WithProperty(redis.EKAddress, seed)
		}
		return a.view, nil
	case <-ctx.Done():
		return topology.View{}, ErrClusterSlots.Wrap(context.Cause(ctx), "no answer").WithProperty(redis.EKAddress, seed)
	}
}

// hosts implements source: the hosts of the seeds that have a name, by the addresses
// that they resolve to in time.
func (s *nodeSource) hosts() map[string]string {
	ctx, cancel := context.WithTimeout(s.c.ctx, s.c.askTimeout())
	defer cancel()
	type named struct{ addr, host string }
	found := make(chan named, len(s.seeds))
	for _, seed := range s.seeds {
		go func() { // ends with ctx
			host, err := redisclusterutil.GetHost(seed)
			if err != nil || redisclusterutil.IsIPAddress(host) {
				found <- named{}
				return
			}
			addr, _ := lookUp(ctx, seed)
			found <- named{addr, host}
		}()
	}
	hosts := make(map[string]string)
	for range s.seeds {
		if n := <-found; n.addr != "" {
			hosts[n.addr] = n.host
		}
	}
	return hosts
}

// lookUp resolves the host of an address, no longer than the context lasts.
func lookUp(ctx context.Context, addr string) (string, error) {
	type result struct {
		addr string
		err  error
	}
	got := make(chan result, 1)
	go func() { // ends with the resolver's own time-out
		ip, err := redisclusterutil.Resolve(addr)
		got <- result{ip, err}
	}()
	select {
	case res := <-got:
		if res.err != nil {
			return "", ErrAddressNotResolved.Wrap(res.err, "address is not resolved").WithProperty(redis.EKAddress, addr)
		}
		return res.addr, nil
	case <-ctx.Done():
		return "", redis.ErrContextClosed.Wrap(context.Cause(ctx), "address is not resolved in time")
	}
}
