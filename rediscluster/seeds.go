package rediscluster

import (
	"context"
	"net"
	"time"

	"github.com/joomcode/redispipe/internal/topology"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
	"github.com/joomcode/redispipe/redisconn"
)

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
