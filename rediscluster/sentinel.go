package rediscluster

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/topology"
	"github.com/joomcode/redispipe/redisconn"
)

// maxSentinels bounds the number of watched sentinels: each costs two sockets.
const maxSentinels = 32

// NewSentinel returns a client of a master with replicas that sentinels watch. addrs
// (host:port) are the addresses of some of the sentinels. The client learns of the others from them,
// and subscribes to all that it can reach. name is the sentinels' name for the master.
//
// If ctx has a deadline, ctx limits only the call to NewSentinel, and the client lives until Close,
// even if ctx is cancelled. If ctx has no deadline, the client lives until Close or until
// ctx is cancelled.
//
// The client is a Cluster with one shard: the keys of a request may be in any slots, and commands
// without keys go to the master. Opts.SentinelOpts are the options of connections to
// sentinels, which never get the user and password of HostOpts.
//
// Among the sentinels that know each other, the client trusts the one with the greatest config-epoch.
// It ignores a foreign sentinel at the address of a known one: see Opts.RefuseStrangers. As soon as a
// sentinel reports a greater epoch, the client writes nothing more to the old master. It accepts
// outstanding replies of the old master for 50 ms; the other requests in flight fail as unknown
// ([redis.ErrIO]). It asks a server for its role before it sends anything else to it. The last answer
// of a silent sentinel counts until a majority has agreed on a different answer for 10 s; without that
// limit, newly installed sentinels, which start with epoch 0, would never count.
//
// If no sentinel knows a master yet, or the master can't be reached, NewSentinel waits
// until ctx is done, or for 5 s if ctx has no deadline. It returns [ErrNoSentinel],
// [ErrMasterUnknown] or [ErrSentinelsDisagree], each with the answer of every sentinel. It
// returns [ErrNotSentinel], [redisconn.ErrAuth] or [redisconn.ErrTLS] at once if every sentinel
// or the master refuses the client. It returns [redisconn.ErrRole] if the server named as master is
// not one, or another error of the connection to that server.
func NewSentinel(ctx context.Context, addrs []string, name string, opts Opts) (*Cluster, error) {
	if name == "" {
		return nil, topology.ErrMasterUnknown.New("the name of the master is empty")
	}
	if opts.Name == "" {
		opts.Name = name
	}
	opts.Addrs = nil // only NewReplicated uses Addrs
	return newCluster(ctx, addrs, opts, func(c *Cluster) source { return newSentinels(c, addrs, name) })
}

// sentinels is the source that builds the topology from the sentinels' answers.
type sentinels struct {
	c     *Cluster
	name  string
	seeds []string
	opts  redisconn.Opts

	mu      sync.Mutex // guards the fields below
	watched map[string]*sentinel
	reports *topology.Reports
}

func newSentinels(c *Cluster, seeds []string, name string) *sentinels {
	s := &sentinels{
		c: c, name: name, seeds: slices.Clone(seeds), opts: c.opts.SentinelOpts,
		watched: make(map[string]*sentinel),
		reports: topology.NewReports(seeds, c.opts.RefuseStrangers),
	}
	// The client dials and asks sentinels forever, in RESP2 and their only database.
	s.opts.AsyncDial, s.opts.ReadOnly, s.opts.ScriptMode, s.opts.Integrity = true, false, false, false
	s.opts.DB, s.opts.Protocol, s.opts.Role, s.opts.Logger = 0, 2, redisconn.RoleAny, redisconn.NoopLogger{}
	if s.opts.IOTimeout <= 0 {
		s.opts.IOTimeout = c.askTimeout()
	}
	return s
}

// start implements source.
func (s *sentinels) start(ctx context.Context) (*topology.Layout, error) {
	s.mu.Lock()
	s.watchLocked(s.seeds)
	s.mu.Unlock()
	return firstLayout(ctx, s.c.refresher.news, func(ctx context.Context) (*topology.Layout, error, bool) {
		s.askAll(ctx)
		s.mu.Lock()
		failure, final := s.reports.Failure(s.name)
		l := s.reports.Layout()
		s.mu.Unlock()
		if failure != nil {
			return nil, s.c.withCluster(failure), final
		}
		master := l.Shards[0].Master
		conn, err := s.c.dialOnce(ctx, master, "", redisconn.RoleMaster)
		if err != nil {
			hint := ""
			if redis.AsErrorx(err).IsOfType(redisconn.ErrDial) {
				hint = "; if clients have another address for it, map the one to the other in HostOpts.Dialer"
			}
			failure := errorx.Decorate(redis.AsErrorx(err), "sentinels name %s as the master %q%s", master, s.name, hint)
			return nil, failure, errs.PermanentCause(failure) != nil
		}
		conn.Close()
		return l, nil, true
	})
}

// read implements source: it makes the watchers ask all sentinels, and waits for the answers that
// arrive in time.
func (s *sentinels) read(ctx context.Context, ask bool) *topology.Layout {
	if ask {
		s.askAll(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reports.Layout()
}

// askAll returns when all sentinels have answered, or askGrace after the first answer. Once there is a
// topology, it returns as soon as a sentinel reports a different one, so that a frozen sentinel
// delays no failover. Before that it waits for the others, because they may disagree.
func (s *sentinels) askAll(ctx context.Context) {
	var news <-chan struct{}
	if len(s.c.topology.Load().Shards) > 0 {
		news = s.c.refresher.news
	}
	s.mu.Lock()
	watched := slices.Collect(maps.Values(s.watched))
	s.mu.Unlock()
	answers := make(chan func() bool, len(watched))
	for _, w := range watched {
		w.turns.After(func() { answers <- s.settled })
		w.askSoon()
	}
	gather(ctx, answers, len(watched), s.opts.IOTimeout, news)
}

// settled reports whether more than half of the sentinels have answered at some time.
func (s *sentinels) settled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reports.Settled()
}

// probe implements source: it does nothing, because sentinels announce changes.
func (s *sentinels) probe() bool { return false }

// hosts implements source: sentinels report names if they are configured to.
func (s *sentinels) hosts() map[string]string { return nil }

// hear records a sentinel's answer, or the reason why there is none.
func (s *sentinels) hear(w *sentinel, r topology.Report, failure *errorx.Error) {
	if s.c.ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	if s.watched[w.addr] != w {
		s.mu.Unlock()
		return
	}
	now := time.Now()
	fails := s.reports.Hear(w.addr, r, failure, now)
	verdict := s.reports.Judge(now)
	if failure == nil {
		s.watchLocked(s.reports.Others())
		s.forgetLocked(now)
	}
	s.mu.Unlock()

	if fails {
		s.c.report(LogSentinelFailed{Address: w.addr, Error: failure})
	}
	if verdict.Dispute != nil {
		s.c.report(LogSentinelFailed{Address: w.addr, Error: verdict.Dispute})
	}
	for _, addr := range verdict.Strangers {
		s.c.report(LogSentinelFailed{Address: addr, Error: ErrSentinelsDisagree.New("the sentinel is not one of those that the client knows")})
	}
	if len(verdict.Left) > 0 {
		s.c.report(LogFollowsStrangers{Masters: verdict.Left})
	}
	if verdict.Changed {
		lifetime.Wake(s.c.refresher.news)
	}
}

// watchLocked starts to watch those of the sentinels that are not watched yet.
func (s *sentinels) watchLocked(addrs []string) {
	for _, addr := range addrs {
		if s.watched[addr] == nil && len(s.watched) < maxSentinels && s.c.ctx.Err() == nil {
			s.watched[addr] = startSentinel(s, addr)
		}
	}
}

// forgetLocked ends the watch of sentinels that are no longer needed.
func (s *sentinels) forgetLocked(now time.Time) {
	for _, addr := range s.reports.Forget(now) {
		s.watched[addr].stop()
		delete(s.watched, addr)
	}
}
