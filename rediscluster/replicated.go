package rediscluster

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
	"github.com/joomcode/redispipe/redisconn"
)

// NewReplicated makes a client of a master with replicas that are not watched by
// sentinels, such as the primary and the reader endpoint of a managed Redis. addrs
// (host:port) are their addresses; with Opts.Addrs there may be none. The servers are
// asked for their roles (ROLE) every CheckInterval, after each failure, and in each
// handshake. Host names are resolved as often, to all of their IPs. The client lives
// until Close, or until ctx is done.
//
// It is a Cluster with one shard: a request may have keys of any slots, and commands
// without keys go to the master.
//
// Of two masters, the one counts that was promoted from the other's history: its
// master_replid2 is the other's master_replid (INFO replication). If no master is newer
// than all others in this way, requests that need a master end with
// [ErrNoAliveConnection], which names the masters; reads of replicas go on.
//
// If there is no master yet, NewReplicated waits for one, for at most 5 s and until ctx
// is done. Errors: [ErrNoMaster] and [ErrManyMasters], each with the servers' answers;
// [redisconn.ErrAuth] or [redisconn.ErrTLS] if every server refuses the client.
func NewReplicated(ctx context.Context, addrs []string, opts Opts) (*Cluster, error) {
	if len(addrs) == 0 && opts.Addrs != nil && opts.Name == "" {
		opts.Name = "replicated"
	}
	return newCluster(ctx, addrs, opts, func(c *Cluster) source {
		return &serverList{c: c, addrs: slices.Clone(addrs)}
	})
}

// serverList is the source of a topology that servers of a list tell, each of itself.
type serverList struct {
	c     *Cluster
	addrs []string
	// last is what each server last said.
	last map[string]standing
	// names are hostnames of addresses.
	names map[string]string
}

// standing is what a server says of itself.
type standing struct {
	role redisconn.Role
	// id is that of the run: the same server may have several addresses.
	id string
	// replid is that of its history, and replid2 that of the one it was promoted from.
	replid, replid2 string
	err             *errorx.Error
}

// start implements source.
func (s *serverList) start(ctx context.Context) (*layout, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for reason := ErrNoMaster.New("no answer in time"); ; {
		s.ask(ctx)
		l := s.layout("")
		switch {
		case l.reason == nil:
			return l, nil
		case ctx.Err() == nil: // else they had no time to answer
			reason = l.reason
		}
		if refusal := s.refusal(); refusal != nil {
			return nil, s.c.withCluster(refusal.New("%s", l.reason.Message()))
		}
		select {
		case <-time.After(startPause):
		case <-ctx.Done():
			return nil, s.c.withCluster(reason)
		}
	}
}

// refusal returns why all servers refuse the client for good, nil if some do not.
func (s *serverList) refusal() (kind *errorx.Type) {
	for _, st := range s.last {
		cause := permanentCause(st.err)
		if cause == nil {
			return nil
		}
		kind = cause.Type()
	}
	return kind
}

// read implements source.
func (s *serverList) read(bool) *layout {
	s.ask(s.c.ctx)
	s.c.askReplicas()
	master := ""
	if t := s.c.topology.Load(); len(t.shards) > 0 {
		master = t.shards[0].master.addr
	}
	return s.layout(master)
}

// probe implements source. To ask all is the only way.
func (s *serverList) probe() bool {
	t := s.c.topology.Load()
	l := s.read(true)
	return len(t.shards) == 0 || l.shards[0].master != t.shards[0].master.addr
}

// news implements source: there are none.
func (s *serverList) news() <-chan struct{} { return nil }

// hosts implements source: layouts have them.
func (s *serverList) hosts() map[string]string { return nil }

// ask asks all servers, and keeps what those said that do not answer in time.
func (s *serverList) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.c.askTimeout())
	defer cancel()
	names := s.resolve(ctx)
	type told struct {
		addr string
		standing
	}
	answers := make(chan told, len(names))
	for addr, host := range names {
		go func() { answers <- told{addr, s.c.askStanding(ctx, addr, host)} }() // ends with ctx
	}
	last := make(map[string]standing, len(names))
	for addr := range names {
		was := s.last[addr]
		was.err = ErrNoMaster.New("no answer in time")
		last[addr] = was
	}
	late := time.NewTimer(2 * s.c.askTimeout()) // ctx ends them before
	defer late.Stop()
	for range names {
		select {
		case a := <-answers:
			if a.err == nil {
				last[a.addr] = a.standing
				late.Reset(askGrace)
				continue
			}
			was := last[a.addr]
			if s.last[a.addr].err == nil {
				s.c.report(LogInitialNodeSkipped{Address: a.addr, Error: a.err})
			}
			was.err = a.err
			last[a.addr] = was
		case <-late.C:
			s.last, s.names = last, names
			return
		}
	}
	s.last, s.names = last, names
}

// resolve returns the addresses, with the hostnames that they come from; of a name that
// can't be resolved those from before.
func (s *serverList) resolve(ctx context.Context) map[string]string {
	addrs := s.addrs
	if s.c.opts.Addrs != nil {
		given, err := s.c.opts.Addrs(ctx)
		if err != nil || len(given) == 0 {
			if err != nil {
				s.c.report(LogInitialNodeSkipped{Address: "Opts.Addrs", Error: err})
			}
			return s.names
		}
		addrs = given
	}
	names := make(map[string]string)
	for _, addr := range addrs {
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			s.c.report(LogInitialNodeSkipped{addr, ErrAddressHostname.Wrap(err, "address is not host:port")})
			continue
		}
		if redisclusterutil.IsIPAddress(host) {
			names[addr] = host
			continue
		}
		ips, err := net.DefaultResolver.LookupHost(ctx, host)
		if err != nil {
			s.c.report(LogInitialNodeSkipped{addr, ErrAddressNotResolved.Wrap(err, "address is not resolved")})
			for known, name := range s.names {
				if _, p, _ := net.SplitHostPort(known); name == host && p == port {
					names[known] = name
				}
			}
			continue
		}
		for _, ip := range ips {
			if known := net.JoinHostPort(ip, port); names[known] == "" {
				names[known] = host
			}
		}
	}
	return names
}

// askStanding asks one server over a connection of its own, which finds what a name
// stands for anew, and holds for no longer than the answer.
func (c *Cluster) askStanding(ctx context.Context, addr, host string) (st standing) {
	opts := c.opts.HostOpts
	opts.ReconnectPause, opts.Logger = -1, redisconn.NoopLogger{}
	opts.TLSConfig = tlsFor(opts, host)
	conn, err := redisconn.Connect(ctx, addr, opts)
	if err != nil {
		return standing{err: redis.AsErrorx(err)}
	}
	defer conn.Close()
	answers := redis.SyncCtx{S: conn}.SendMany(ctx, []redis.Request{redis.Req("ROLE"), redis.Req("INFO", "replication"), redis.Req("INFO", "server")})
	return parseStanding(answers)
}

// parseStanding takes the answers to ROLE, INFO replication and INFO server apart. A user
// may have no right to all of them.
func parseStanding(answers []any) (st standing) {
	role, err := redisconn.ParseRole(answers[0])
	replication, infoErr := redisclusterutil.ParseInfo(answers[1])
	if err != nil && infoErr == nil {
		switch replication["role"] {
		case "master":
			role, err = redisconn.RoleMaster, nil
		case "slave":
			role, err = redisconn.RoleReplica, nil
		}
	}
	if err != nil {
		return standing{err: redis.AsErrorx(err)}
	}
	server, _ := redisclusterutil.ParseInfo(answers[2])
	return standing{role: role, id: server["run_id"], replid: replication["master_replid"], replid2: replication["master_replid2"]}
}

// layout makes one of what the servers said last. If none says it is the master, the
// present one stays as long as it has not said that it is none.
func (s *serverList) layout(present string) *layout {
	var masters, replicas, said []string
	for _, addr := range slices.Sorted(maps.Keys(s.last)) {
		st := s.last[addr]
		switch {
		case st.role == redisconn.RoleMaster && (st.err == nil || addr == present):
			masters = append(masters, addr)
		case st.role == redisconn.RoleReplica:
			replicas = append(replicas, addr)
		}
		if st.err != nil {
			said = append(said, addr+": "+st.err.Error())
		} else {
			said = append(said, fmt.Sprintf("%s: it is a %s", addr, st.role))
		}
	}
	master, found := newestMaster(masters, s.last)
	l := groupLayout(master, replicas)
	l.hostnames = s.names
	switch {
	case found:
		return l
	case len(masters) > 0:
		return l.because(ErrManyMasters.New("each of %s says that it is the master", strings.Join(masters, " and ")))
	case len(said) == 0:
		return l.because(ErrNoMaster.New("no address is known"))
	}
	return l.because(ErrNoMaster.New("no server is a master: %s", strings.Join(said, "; ")))
}

// newestMaster returns the master that all others yield to: see NewReplicated. One that
// does not answer yields to one that does.
func newestMaster(masters []string, said map[string]standing) (addr string, found bool) {
	for _, addr := range masters {
		newest := said[addr]
		if !slices.ContainsFunc(masters, func(other string) bool {
			return other != addr && !said[other].yieldsTo(newest, addr < other)
		}) {
			return addr, true
		}
	}
	return "", false
}

// yieldsTo reports whether another master is newer. Of two addresses of one server the
// first counts.
func (st standing) yieldsTo(other standing, first bool) bool {
	switch {
	case st.id != "" && st.id == other.id:
		return first
	case st.err != nil && other.err == nil:
		return true
	}
	return st.replid != "" && st.replid == other.replid2
}
