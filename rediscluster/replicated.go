package rediscluster

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/topology"
	"github.com/joomcode/redispipe/redisconn"
)

// NewReplicated returns a client of a master with replicas that no sentinels watch,
// such as the primary and the reader endpoint of a managed Redis. addrs
// (host:port) are their addresses; with Opts.Addrs, addrs may be empty. The client asks the servers
// for their roles (ROLE) every CheckInterval, after each failure, and in each
// handshake. Each time, it resolves host names to all of their IPs. With a HostOpts.Dialer it resolves
// nothing: the Dialer gets the names.
//
// If ctx has a deadline, ctx limits only the call to NewReplicated, and the client lives until
// Close, even if ctx is cancelled. If ctx has no deadline, the client lives until Close or until
// ctx is cancelled.
//
// The client is a Cluster with one shard: the keys of a request may be in any slots, and commands
// without keys go to the master.
//
// If several servers report that they are masters, the client ignores those that are unreachable, or
// silent for HostOpts.IOTimeout (for HostOpts.DialTimeout, if that is longer), while another one
// answers. The first of these rules that applies picks the master among the rest:
//
//   - The master is the one that most of the listed replicas follow.
//   - It is the one that was promoted and has all data of the others, according to their
//     histories (INFO replication).
//   - It is the present one, unless Opts.StopOnManyMasters is set.
//
// If no rule applies, requests that need a master fail with [ErrNoAliveConnection], not sent; the
// error names the masters. Reads from replicas continue.
//
// A server at another address that shares neither run nor history with the last master takes its place
// only when the last master has been silent for 10 s, and never with Opts.RefuseStrangers.
//
// If the master's connections lead to a different server than its address, or refuse writes
// (READONLY) or redirect (REDIRECT of Valkey 8 and later), the client replaces them.
//
// If servers answer and none is the master yet, as during a failover, NewReplicated waits for
// one until ctx is done, or for 5 s if ctx has no deadline. It returns [ErrNoMaster] or
// [ErrManyMasters], each with the servers' answers. It returns ErrNoMaster at once if it can connect
// to none of addrs, and [redisconn.ErrAuth] or [redisconn.ErrTLS] at once if every server refuses
// the client.
func NewReplicated(ctx context.Context, addrs []string, opts Opts) (*Cluster, error) {
	if len(addrs) == 0 && opts.Addrs != nil && opts.Name == "" {
		opts.Name = "replicated"
	}
	return newCluster(ctx, addrs, opts, func(c *Cluster) source {
		return newServerList(c, slices.Clone(addrs))
	})
}

// serverList is the source that builds the topology from the servers' reports about themselves.
type serverList struct {
	c     *Cluster
	addrs []string
	// last holds the last report of each server.
	last topology.ServerInfos
	// open holds the addresses of the servers whose answers were not recorded yet. answers delivers
	// the answers as functions, as gather expects. Each function records one answer, and only ask may
	// call it.
	open    map[string]bool
	answers chan func() (good bool)
	// patient is set while a server is asked for the first time.
	patient bool
	// names maps each address to the hostname that it comes from.
	names map[string]string
	// asked delivers the result of the running call of Opts.Addrs; nil if none is running.
	asked chan given
	// lineage is the known history of the master. silent is the time when the master stopped
	// confirming its role; zero while it does.
	lineage topology.Lineage
	silent  time.Time
	// failure is the error of the last call of Opts.Addrs or, if that returned addresses, the error of
	// one that could not be resolved.
	failure error
}

func newServerList(c *Cluster, addrs []string) *serverList {
	return &serverList{c: c, addrs: addrs, open: make(map[string]bool), answers: make(chan func() bool)}
}

// given is a result of Opts.Addrs.
type given struct {
	addrs []string
	err   error
}

// start implements source.
func (s *serverList) start(ctx context.Context) (*topology.Layout, error) {
	l, err := firstLayout(ctx, nil, func(ctx context.Context) (*topology.Layout, error, bool) {
		l := s.read(ctx, true)
		if l.Reason == nil {
			return l, nil, true
		}
		if refusal := s.last.Refusal(); refusal != nil {
			return nil, refusal.New("%s", l.Reason.Message()), true
		}
		return nil, l.Reason, s.down()
	})
	if err != nil {
		return nil, s.c.withCluster(redis.AsErrorx(err))
	}
	return l, nil
}

// down reports whether asking again is useless: no server accepts connections, and there is no
// Opts.Addrs that might return others.
func (s *serverList) down() bool {
	for _, info := range s.last {
		if info.Err == nil || !info.Err.IsOfType(redisconn.ErrDial) {
			return false
		}
	}
	return s.c.opts.Addrs == nil
}

// read implements source.
func (s *serverList) read(ctx context.Context, _ bool) *topology.Layout {
	s.ask(ctx)
	present := ""
	if t := s.c.topology.Load(); len(t.Shards) > 0 {
		present = t.Shards[0].Master.Addr
	}
	l := s.layout(present)
	l.Hostnames = s.names
	if l.Reason != nil && l.Reason.Type() == topology.ErrNoMaster && s.failure != nil {
		l.Reason = topology.ErrNoMaster.Wrap(s.failure, "%s", l.Reason.Message())
	}
	return l
}

// layout builds a layout from the servers' last reports. While the present master is listed, a master
// that is unrelated to it replaces it only if the present master has been silent for strangersAfter and
// there is no other candidate.
func (s *serverList) layout(present string) *topology.Layout {
	switch {
	case s.last.Leads(present):
		s.silent = time.Time{}
	case s.silent.IsZero():
		s.silent = time.Now()
	}
	stop := s.c.opts.StopOnManyMasters
	l := s.last.Layout(present, stop)
	strangers := s.lineage.Strangers(s.last, present)
	if len(strangers) > 0 && (slices.Contains(strangers, l.Shards[0].Master) || !s.last.Leads(present)) {
		known := s.last.Without(strangers).Layout(present, stop)
		if s.last.Leads(known.Shards[0].Master) || s.c.opts.RefuseStrangers || time.Since(s.silent) < strangersAfter {
			l = known
		} else {
			s.c.report(LogFollowsStrangers{Masters: l.Masters()})
		}
	}
	s.lineage.Learn(s.last, l)
	return l
}

// probe implements source. It must ask all servers.
func (s *serverList) probe() bool {
	master := s.c.topology.Load().Shards[0].Master
	l := s.read(s.c.ctx, true)
	return l.Shards[0].Master != master.Addr || master.Outdated(l.Server, s.c.verified(l, master.Addr))
}

// hosts implements source. It returns none, because the layouts contain the hostnames.
func (s *serverList) hosts() map[string]string { return nil }

// ask asks all servers. If one of them is asked for the first time, ask waits until each has answered
// or failed; otherwise it returns askGrace after the first answer. A late server keeps its last role,
// and ask does not ask it again until it answers or askNewTimeout has passed. A server that fails keeps
// its last role, with the error.
func (s *serverList) ask(ctx context.Context) {
	names := s.addresses(ctx)
	last := make(topology.ServerInfos, len(names))
	s.patient = false
	for addr := range names {
		was, known := s.last[addr]
		if !known {
			s.patient = true
			was.Err = topology.ErrNoMaster.New("no answer in time")
		}
		last[addr] = was
	}
	s.last, s.names = last, names
	s.hearLate()
	for addr, host := range names {
		if !s.open[addr] {
			s.open[addr] = true
			go s.askServer(addr, host)
		}
	}
	gather(ctx, s.answers, len(s.open), timing.Times(s.c.askNewTimeout(), 2), nil) // the answers arrive before that, because each question has a time-out
}

// hearLate records the answers that have arrived since the last round.
func (s *serverList) hearLate() {
	for {
		select {
		case hear := <-s.answers:
			hear()
		default:
			return
		}
	}
}

// askServer is a goroutine that asks one server. It ends when ask has heard the answer, or with
// the cluster.
func (s *serverList) askServer(addr, host string) {
	ctx, cancel := context.WithTimeout(s.c.ctx, s.c.askNewTimeout())
	defer cancel()
	info := s.c.askServerInfo(ctx, addr, host)
	select {
	case s.answers <- func() bool { return s.hear(addr, info) }:
	case <-s.c.ctx.Done():
	}
}

// hear records the report of a server, if the server is still listed.
func (s *serverList) hear(addr string, info topology.ServerInfo) (good bool) {
	delete(s.open, addr)
	was, listed := s.last[addr]
	if !listed {
		return false
	}
	s.last[addr] = info.After(was)
	if info.Err != nil && was.Err == nil {
		s.c.report(LogInitialNodeSkipped{Address: addr, Error: info.Err})
	}
	return info.Err == nil && !s.patient
}

// addresses returns the addresses to ask, mapped to the hostnames that they come from. If there are
// none, it returns those of the last time.
func (s *serverList) addresses(ctx context.Context) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, s.c.askTimeout())
	defer cancel()
	addrs, failure := s.addrs, error(nil)
	if s.c.opts.Addrs != nil {
		if addrs, failure = s.given(ctx); failure != nil {
			s.c.report(LogInitialNodeSkipped{Address: "Opts.Addrs", Error: failure})
			failure = topology.ErrNoMaster.Wrap(failure, "Opts.Addrs gave no addresses")
		}
	}
	names, unresolved := s.c.resolveHosts(ctx, addrs, s.names)
	s.failure = cmp.Or(failure, unresolved)
	if len(names) > 0 {
		return names
	}
	return s.names
}

// given calls Opts.Addrs, and waits for its result until ctx is done. While a call is running, given
// starts no other.
func (s *serverList) given(ctx context.Context) ([]string, error) {
	if s.asked == nil {
		s.asked = make(chan given, 1)
		go func(answer chan<- given) { // ends with the user's function
			g := given{err: topology.ErrNoMaster.New("it panicked")}
			s.c.call(func() { g.addrs, g.err = s.c.opts.Addrs(ctx) })
			answer <- g
		}(s.asked)
	}
	select {
	case g := <-s.asked:
		s.asked = nil
		if g.err == nil {
			g.err = checkAddrs(g.addrs)
		}
		if g.err != nil {
			return nil, g.err
		}
		return g.addrs, nil
	case <-ctx.Done():
		return nil, topology.ErrNoMaster.Wrap(lifetime.Reason(ctx), "it has not returned")
	}
}

// askServerInfo asks one server over a new connection, so that its name is resolved
// again. The connection is closed after the answer.
func (c *Cluster) askServerInfo(ctx context.Context, addr, host string) topology.ServerInfo {
	conn, err := c.dialOnce(ctx, addr, host, c.opts.HostOpts.Role)
	if err != nil {
		return topology.ServerInfo{Err: redis.AsErrorx(err)}
	}
	defer conn.Close()
	answers := redis.SyncCtx{S: conn}.SendMany(ctx, []redis.Request{redis.Req("ROLE"), redis.Req("INFO", "replication"), redis.Req("INFO", "server")})
	role, refusal := redisconn.ParseRole(answers[0])
	return topology.ParseServerInfo(string(role), refusal, answers[1], answers[2])
}
