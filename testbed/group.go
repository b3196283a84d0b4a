package testbed

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/joomcode/redispipe/redis"
)

// GroupOptions are the options of a master with replicas, and of sentinels that watch
// them. The zero value runs one master, two replicas and no sentinel.
type GroupOptions struct {
	// Options are the options of the master and the replicas. With TLS they replicate
	// over TLS, and sentinels know their TLS ports.
	Options
	// Replicas is the number of replicas. Default 2; negative: none.
	Replicas int
	// Sentinels is the number of sentinels. Default none.
	Sentinels int
	// WatchedBy is another group, whose sentinels also watch this group. Then this group has no
	// sentinels of its own. The two MasterNames must differ. Close the other group last.
	WatchedBy *Group
	// MasterName is the sentinels' name for the master. Default "mymaster".
	MasterName string
	// SentinelOptions are the options of the sentinels. TLS, CA and Certificate are taken
	// from Options.
	SentinelOptions Options
	// Hostname is the host name that the servers announce and the sentinels report (Redis 6.2). It
	// must resolve to 127.0.0.1. Default: none, so they report IPs.
	Hostname string
	// DownAfter is how long a sentinel waits for an answer before it considers a server down.
	// Default 1 s. With less, a busy machine looks like a failure.
	DownAfter time.Duration
	// Timeout bounds each wait for the group. Default 1 min: a sentinel that was delayed
	// for two seconds does nothing for five, or for 30 before version 7.0 (TILT).
	Timeout time.Duration
}

func (o GroupOptions) withDefaults() (GroupOptions, error) {
	if o.Replicas == 0 {
		o.Replicas = 2
	}
	o.Replicas = max(o.Replicas, 0)
	if o.MasterName == "" {
		o.MasterName = "mymaster"
	}
	if o.DownAfter <= 0 {
		o.DownAfter = time.Second
	}
	if o.Timeout <= 0 {
		o.Timeout = time.Minute
	}
	// Servers write role changes to redis.conf, and must find them after a restart.
	o.Options.keepConfig, o.SentinelOptions.keepConfig = true, true
	if o.TLS {
		o.Options.Config = append(slices.Clone(o.Options.Config), "tls-replication yes")
	}
	if o.Hostname != "" {
		o.Options.Config = append(slices.Clone(o.Options.Config), "replica-announce-ip "+o.Hostname)
	}
	var err error
	if o.Options, err = o.Options.withDefaults(); err != nil {
		return o, err
	}
	o.SentinelOptions.TLS, o.SentinelOptions.CA, o.SentinelOptions.Certificate = o.TLS, o.CA, o.Certificate
	if o.SentinelOptions.Binary == "" {
		o.SentinelOptions.Binary = o.Binary
	}
	o.SentinelOptions, err = o.SentinelOptions.withDefaults()
	return o, err
}

// Group is a master with replicas, and the sentinels that watch them. Servers
// keep their indexes while roles change: use Master and Replicas.
type Group struct {
	opts      GroupOptions
	servers   []*Server
	sentinels []*Server
}

// NewGroup starts a group for a test, and closes it when the test ends. If it can't
// start the group, the test fails. If the test fails, NewGroup shows the servers' logs. Pass at most
// one opts; without it, the defaults apply.
func NewGroup(t testing.TB, opts ...GroupOptions) *Group {
	t.Helper()
	return forTest(t, StartGroup, opts)
}

// StartGroup starts a group and returns when the replicas are in sync and the
// sentinels know each other and all servers. Close the group.
func StartGroup(opts GroupOptions) (*Group, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	g := &Group{opts: o}
	if err := g.create(); err != nil {
		err = withLogs(err, g)
		g.Close()
		return nil, err
	}
	return g, nil
}

func (g *Group) create() error {
	master, err := Start(g.opts.Options)
	if err != nil {
		return err
	}
	g.servers = append(g.servers, master)
	replica := g.opts.Options
	replica.Config = append(slices.Clone(replica.Config), "replicaof "+g.hostPort(master))
	if err := startAll(&g.servers, g.opts.Replicas, replica); err != nil {
		return err
	}
	if err := g.WaitReplicas(master); err != nil || g.opts.WatchedBy == nil && g.opts.Sentinels <= 0 {
		return err
	}
	if g.opts.WatchedBy != nil {
		err = g.joinSentinels(master)
	} else {
		sentinel := g.opts.SentinelOptions
		sentinel.sentinel = g.sentinelConfig(master)
		err = startAll(&g.sentinels, g.opts.Sentinels, sentinel)
	}
	if err != nil {
		return err
	}
	return g.WaitSentinels(master)
}

// startAll starts count more servers at once.
func startAll(servers *[]*Server, count int, o Options) error {
	started, errs := make([]*Server, count), make([]error, count)
	var all sync.WaitGroup
	for i := range count {
		all.Go(func() { started[i], errs[i] = Start(o) })
	}
	all.Wait()
	*servers = append(*servers, slices.DeleteFunc(started, func(s *Server) bool { return s == nil })...)
	return errors.Join(errs...)
}

// addr returns the address of a server for clients and the other servers.
func (g *Group) addr(s *Server) string {
	addr := s.Addr()
	if g.opts.TLS {
		addr = s.TLSAddr()
	}
	if g.opts.Hostname != "" && !slices.Contains(g.sentinels, s) {
		_, port, _ := strings.Cut(addr, ":")
		return g.opts.Hostname + ":" + port
	}
	return addr
}

// hostPort returns addr in the form of configuration files and SENTINEL.
func (g *Group) hostPort(s *Server) string { return strings.Replace(g.addr(s), ":", " ", 1) }

// Servers returns the master and the replicas, in the order in which they were
// started: the original master first.
func (g *Group) Servers() []*Server { return slices.Clone(g.servers) }

// Addrs returns the addresses of Servers. With TLS these have the TLS ports. If
// GroupOptions.Hostname is set, it is their host.
func (g *Group) Addrs() []string { return g.addrs(g.servers) }

func (g *Group) addrs(servers []*Server) (addrs []string) {
	for _, s := range servers {
		addrs = append(addrs, g.addr(s))
	}
	return addrs
}

// Master returns the master. Of the live servers that report that they are masters, it is the one
// that the most live replicas and sentinels name.
func (g *Group) Master() (*Server, error) {
	votes := make(map[string]int)
	for _, s := range g.servers {
		if s.live() {
			if info := s.replication(); info("role") == "slave" {
				votes[info("master_host")+":"+info("master_port")]++
			}
		}
	}
	var master *Server
	for _, s := range g.servers {
		if s.live() && s.replication()("role") == "master" && (master == nil || votes[g.addr(s)] > votes[g.addr(master)]) {
			master = s
		}
	}
	if master == nil {
		return nil, errors.New("testbed: the group has no live master")
	}
	return master, nil
}

// Replicas returns the servers other than the master.
func (g *Group) Replicas(master *Server) []*Server {
	return slices.DeleteFunc(g.Servers(), func(s *Server) bool { return s == master })
}

// WaitReplicas waits until all live servers except the master replicate from the master, and have
// all data that the master had when WaitReplicas was called.
func (g *Group) WaitReplicas(master *Server) error {
	return g.wait("replication from "+g.addr(master), func() error {
		offset := master.replication()("master_repl_offset")
		for _, s := range g.Replicas(master) {
			if !s.live() {
				continue
			}
			info := s.replication()
			switch {
			case info("role") != "slave", info("master_host")+":"+info("master_port") != g.addr(master):
				return fmt.Errorf("%s does not follow it", g.addr(s))
			case info("master_link_status") != "up":
				return fmt.Errorf("%s is not connected to it", g.addr(s))
			case len(info("slave_repl_offset")) < len(offset), len(info("slave_repl_offset")) == len(offset) && info("slave_repl_offset") < offset:
				return fmt.Errorf("%s is behind", g.addr(s))
			case s.savesData():
				return fmt.Errorf("%s saves what it has got", g.addr(s))
			}
		}
		return nil
	})
}

func (g *Group) wait(what string, missing func() error) error {
	return waitUntil(g.opts.Timeout, what, missing)
}

// Promote makes a replica the master, as an operator would do without sentinels. The other live
// servers, including the old master, follow the new one.
func (g *Group) Promote(replica *Server) error {
	host, port, _ := strings.Cut(g.addr(replica), ":")
	if err := replica.follow("NO", "ONE"); err != nil {
		return err
	}
	for _, s := range g.Replicas(replica) {
		if s.live() {
			if err := s.follow(host, port); err != nil {
				return err
			}
		}
	}
	return g.WaitReplicas(replica)
}

// Close kills all servers and removes their directories.
func (g *Group) Close() {
	servers := g.Servers()
	if g.opts.WatchedBy == nil {
		servers = append(servers, g.sentinels...)
	}
	var all sync.WaitGroup
	for _, s := range servers {
		all.Go(s.Close)
	}
	all.Wait()
}

// call runs a command and returns only its error.
func (s *Server) call(cmd string, args ...any) error {
	if err := redis.AsError(s.Do(cmd, args...)); err != nil {
		return fmt.Errorf("testbed: %s at %s: %w", cmd, s.Addr(), err)
	}
	return nil
}

// follow makes the server a replica of another, or the master, permanently.
func (s *Server) follow(host, port string) error {
	if err := s.call("REPLICAOF", host, port); err != nil {
		return err
	}
	return s.call("CONFIG REWRITE")
}

// savesData reports whether the server is writing a new append-only file, as replicas do once they
// are in sync. Before version 7, a server refuses to stop while it does so.
func (s *Server) savesData() bool {
	info, _ := s.Do("INFO", "persistence").([]byte)
	return infoField(string(info), "aof_rewrite_in_progress") == "1"
}

// replication returns the fields of INFO replication, or empty fields if the server does not
// answer.
func (s *Server) replication() func(field string) string {
	info, _ := s.Do("INFO", "replication").([]byte)
	return func(field string) string { return infoField(string(info), field) }
}

func (g *Group) started() []*Server { return append(g.Servers(), g.sentinels...) }
