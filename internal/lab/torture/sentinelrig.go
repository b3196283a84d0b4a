package torture

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisdumb"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// SentinelRig is a client of a master that sentinels watch, together with everything that judges
// the client. The client reaches the sentinels through proxies.
type SentinelRig struct {
	Witnesses
	Group   *testbed.Group
	Proxies []*chaos.Proxy // proxies of the sentinels
	Client  *rediscluster.Cluster

	family   oracle.Family // the goroutines of the client
	monitors []*Monitor

	mu    sync.Mutex // guards the fields below
	moves []Move
	lost  map[string]time.Time // by address, when the client's sockets were lost
	dials []Dial
}

// Dial is a connection that the client has made or failed to make.
type Dial struct {
	At   time.Time
	Addr string
	Err  error // nil if the connection was made
}

// Move is an event: the client began to use a server as the master.
type Move struct {
	At     time.Time
	Master string
	// Issued is the number of requests that were issued before. Requests with this ID and later
	// ones were issued after the move.
	Issued uint64
}

// NewSentinelRig makes a client of a group. Call Close.
func NewSentinelRig(name string, seed int64, group *testbed.Group, opts rediscluster.Opts) (*SentinelRig, error) {
	r := &SentinelRig{Witnesses: Witnesses{seed: seed}, Group: group, lost: make(map[string]time.Time)}
	r.NewLedger(name)
	behind := make(map[string]string)
	for _, addr := range group.SentinelAddrs() {
		proxy, err := chaos.ListenProxy(addr, chaos.ProxyOpts{Seed: seed})
		if err != nil {
			return r, err
		}
		r.Proxies = append(r.Proxies, proxy)
		behind[addr] = proxy.Addr()
	}
	r.family = oracle.NewFamily()
	opts.SentinelOpts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, behind[addr])
	}
	opts.Logger = sentinelEvents{rig: r}
	opts.SentinelOpts.Logger = redisconn.NoopLogger{}
	var err error
	r.Client, err = setUp(func() (*rediscluster.Cluster, error) {
		return rediscluster.NewSentinel(context.Background(), group.SentinelAddrs()[:1], group.MasterName(), opts)
	})
	return r, err
}

// Load returns a load on the client. The rig's ledger judges it.
func (r *SentinelRig) Load(workers, requests int) *Load {
	l := r.load(r.Client, workers, requests)
	l.Unordered = true // each request of a batch is retried separately
	return l
}

// Judge is Rig.Judge without a proxy in front of the servers. If sentinels still change the role of
// a server, that server disconnects its clients. Then Judge reads again.
func (r *SentinelRig) Judge(within time.Duration) (*oracle.Report, error) {
	master, err := r.Group.Master()
	if err != nil {
		return r.Ledger.Report, err
	}
	read := func(cmd string, args ...any) (res any) {
		for range 3 {
			if res = master.Do(cmd, args...); !redis.AsErrorx(res).HasTrait(redis.ErrTraitConnectivity) {
				break
			}
		}
		return res
	}
	return r.verify(read, within)
}

// Close closes the client, and reports goroutines that outlive the client by a second.
func (r *SentinelRig) Close() {
	if r.Client != nil {
		r.Client.Close()
		r.family.Settle(r.Ledger.Report, endWithin, engines...)
	}
	r.Watched()
	for _, p := range r.Proxies {
		p.Close()
	}
}

// sentinelEvents is the logger of a rig's client.
type sentinelEvents struct {
	rediscluster.NoopLogger
	rig *SentinelRig
}

// Report implements rediscluster.Logger.
func (l sentinelEvents) Report(_ *rediscluster.Cluster, event rediscluster.LogEvent) {
	r := l.rig
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e := event.(type) {
	case rediscluster.LogTopologyChanged:
		for _, master := range e.Masters {
			r.moves = append(r.moves, Move{time.Now(), master, r.Ledger.Issued()})
		}
	case rediscluster.LogHostEvent:
		switch event := e.Event.(type) {
		case redisconn.LogDisconnected:
			r.lost[event.LocalAddr] = time.Now()
		case redisconn.LogConnectFailed:
			r.dials = append(r.dials, Dial{time.Now(), e.Conn.Addr(), event.Error})
		case redisconn.LogConnected:
			r.dials = append(r.dials, Dial{At: time.Now(), Addr: e.Conn.Addr()})
		}
	}
}

// Left returns the client's first move away from the master old, or false if there was none.
func (r *SentinelRig) Left(old string) (Move, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := false
	for _, m := range r.moves {
		if was && m.Master != old {
			return m, true
		}
		was = was || m.Master == old
	}
	return Move{}, false
}

// Dials returns when and how the client's dials of a server ended.
func (r *SentinelRig) Dials(addr string) (dials []Dial) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.dials {
		if d.Addr == addr {
			dials = append(dials, d)
		}
	}
	return dials
}

// LostBy reports whether the client had lost a socket by the time when. If so, it has written
// nothing to the socket since then.
func (r *SentinelRig) LostBy(socket string, when time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, lost := r.lost[socket]
	return lost && at.Before(when)
}

// Watch records the writes on a server until Watched is called.
func (r *SentinelRig) Watch(s *testbed.Server) error {
	m, err := StartMonitor(s)
	if err == nil {
		r.monitors = append(r.monitors, m)
	}
	return err
}

// Watched stops watching, and returns the recorded writes.
func (r *SentinelRig) Watched() (writes []MonitoredWrite) {
	for _, m := range r.monitors {
		writes = append(writes, m.Stop()...)
	}
	r.monitors = nil
	return writes
}

// Announced returns the time when any of the given sentinels first names a master other than old.
func Announced(ctx context.Context, group *testbed.Group, sentinels []string, old *testbed.Server) (time.Time, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	first := make(chan time.Time, len(sentinels))
	for _, addr := range sentinels {
		go func() { // ends with ctx
			conn := &redisdumb.Conn{Addr: addr, Timeout: time.Second}
			defer conn.Close()
			for ctx.Err() == nil {
				named, _ := conn.Do("SENTINEL GET-MASTER-ADDR-BY-NAME", group.MasterName()).([]any)
				if len(named) == 2 && fmt.Sprintf("%s:%s", named...) != old.Addr() {
					first <- time.Now()
					return
				}
				time.Sleep(2 * time.Millisecond)
			}
		}()
	}
	select {
	case at := <-first:
		return at, nil
	case <-ctx.Done():
		return time.Time{}, fmt.Errorf("torture: no sentinel names another master: %w", context.Cause(ctx))
	}
}

// Outages writes every millisecond until the context ends. It returns the times of at least least
// without a successful write.
func (r *SentinelRig) Outages(ctx context.Context, least time.Duration) (gaps []Gap) {
	last := time.Now()
	for ctx.Err() == nil {
		one, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		err := redis.AsError(redis.SyncCtx{S: r.Client}.Do(one, "SET", "probe", "1"))
		cancel()
		if now := time.Now(); err == nil {
			if now.Sub(last) >= least {
				gaps = append(gaps, Gap{last, now})
			}
			last = now
		}
		time.Sleep(time.Millisecond)
	}
	return gaps
}

// Gap is a time without a successful write.
type Gap struct{ From, To time.Time }
