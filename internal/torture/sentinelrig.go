package torture

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/joomcode/redispipe/internal/oracle"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisdumb"
	"github.com/joomcode/redispipe/testbed"
)

// SentinelRig is a client of a master that sentinels watch, with all that judges it.
// The client reaches the sentinels by proxies.
type SentinelRig struct {
	Witnesses
	Group   *testbed.Group
	Proxies []*testbed.Proxy // of the sentinels
	Client  *rediscluster.Cluster

	before oracle.Goroutines
}

// NewSentinelRig makes a client of a group. Close it.
func NewSentinelRig(name string, seed int64, group *testbed.Group, opts rediscluster.Opts) (*SentinelRig, error) {
	r := &SentinelRig{Witnesses: Witnesses{seed: seed}, Group: group}
	r.NewLedger(name)
	behind := make(map[string]string)
	for _, addr := range group.SentinelAddrs() {
		proxy, err := testbed.ListenProxy(addr, testbed.ProxyOpts{Seed: seed})
		if err != nil {
			return r, err
		}
		r.Proxies = append(r.Proxies, proxy)
		behind[addr] = proxy.Addr()
	}
	r.before = oracle.RunningGoroutines()
	opts.SentinelOpts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, behind[addr])
	}
	opts.Logger = rediscluster.NoopLogger{}
	opts.SentinelOpts.Logger = redisconn.NoopLogger{}
	var err error
	r.Client, err = rediscluster.NewSentinel(context.Background(), group.SentinelAddrs()[:1], group.MasterName(), opts)
	return r, err
}

// Load returns a load on the client, judged by the rig's ledger.
func (r *SentinelRig) Load(workers, requests int) *Load {
	l := r.load(r.Client, workers, requests)
	l.Unordered = true // a batch's requests are sent again each for itself
	return l
}

// AllowLoss is for faults that lose what a master has acknowledged.
func (r *SentinelRig) AllowLoss() { r.Log.Lossy, r.Counter.Lossy = true, true }

// Judge is Rig.Judge, without a proxy of the servers.
func (r *SentinelRig) Judge(within time.Duration) (*oracle.Report, error) {
	master, err := r.Group.Master()
	if err != nil {
		return r.Ledger.Report, err
	}
	return r.verify(master.Do, within)
}

// Close closes the client, and notes goroutines that outlive it by a second.
func (r *SentinelRig) Close() {
	if r.Client != nil {
		r.Client.Close()
		r.before.Settle(r.Ledger.Report, time.Second, engines...)
	}
	for _, p := range r.Proxies {
		p.Close()
	}
}

// Announced returns when the first of the sentinels names another master than old.
func (r *SentinelRig) Announced(ctx context.Context, old *testbed.Server) (time.Time, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	first := make(chan time.Time, len(r.Group.Sentinels()))
	for _, addr := range r.Group.SentinelAddrs() {
		go func() { // ends with ctx
			conn := &redisdumb.Conn{Addr: addr, Timeout: time.Second}
			defer conn.Close()
			for ctx.Err() == nil {
				named, _ := conn.Do("SENTINEL GET-MASTER-ADDR-BY-NAME", r.Group.MasterName()).([]any)
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

// Outages writes every millisecond until the context ends, and returns when writes
// began to succeed that had failed or waited before: each with when the last one had
// succeeded.
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

// Gap is a time without a write that succeeded.
type Gap struct{ From, To time.Time }

// Monitor tells when a server has run commands that write, by MONITOR.
type Monitor struct {
	conn net.Conn
	mu   sync.Mutex // guards writes
	// writes are the times at which the server ran them, by its own clock.
	writes []time.Time
	ended  chan struct{}
}

// StartMonitor watches a server that answers. Stop it.
func StartMonitor(s *testbed.Server) (*Monitor, error) {
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		return nil, err
	}
	m := &Monitor{conn: conn, ended: make(chan struct{})}
	in := bufio.NewReader(conn)
	if _, err = conn.Write([]byte("MONITOR\r\n")); err == nil {
		_, err = in.ReadString('\n')
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	go m.run(in)
	return m, nil
}

// run is a goroutine that reads until Stop, or until the server closes the connection.
func (m *Monitor) run(in *bufio.Reader) {
	defer close(m.ended)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		fields := strings.Fields(strings.TrimPrefix(line, "+"))
		if len(fields) < 4 || !strings.Contains(`"SET" "RPUSH" "INCR"`, strings.ToUpper(fields[3])) || strings.Contains(line, " lua]") {
			continue
		}
		if seconds, err := strconv.ParseFloat(fields[0], 64); err == nil {
			m.mu.Lock()
			m.writes = append(m.writes, time.UnixMicro(int64(seconds*1e6)))
			m.mu.Unlock()
		}
	}
}

// Last returns when the last write ran.
func (m *Monitor) Last() (last time.Time, count int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, at := range m.writes {
		if at.After(last) {
			last = at
		}
	}
	return last, len(m.writes)
}

// Stop ends the watch.
func (m *Monitor) Stop() {
	m.conn.Close()
	<-m.ended
}
