package testbed

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/joomcode/redispipe/redis"
)

// sentinelConfig returns the configuration lines with which a sentinel watches the group's master.
func (g *Group) sentinelConfig(master *Server) []string {
	var lines []string
	if g.opts.Hostname != "" {
		lines = []string{"sentinel resolve-hostnames yes", "sentinel announce-hostnames yes"}
	}
	lines = append(lines, fmt.Sprintf("sentinel monitor %s %s %d", g.opts.MasterName, g.hostPort(master), g.opts.Sentinels/2+1))
	for _, setting := range g.sentinelSettings() {
		lines = append(lines, fmt.Sprintf("sentinel %s %s %s", setting[0], g.opts.MasterName, quote(setting[1])))
	}
	if g.opts.TLS {
		lines = append(lines, "tls-replication yes")
	}
	if g.opts.SentinelOptions.Password != "" {
		lines = append(lines, "sentinel sentinel-pass "+quote(g.opts.SentinelOptions.Password))
	}
	return lines
}

// hurryLocked makes a sentinel publish its state, and ask the servers, more often than by default,
// and pause for a shorter time after it was delayed (TILT). So groups are ready, and settle after a
// failover, within a second or two. Before version 7.0 that takes longer, because this can't be
// set.
func (s *Server) hurryLocked() {
	addr := fmt.Sprintf("127.0.0.1:%d", s.ports.plain.num)
	_ = s.do(addr, askTimeout, redis.Req("SENTINEL DEBUG",
		"PUBLISH-PERIOD", 500, "INFO-PERIOD", 1000, "TILT-PERIOD", 5000))
}

// sentinelSettings returns the sentinels' settings for the group's master.
func (g *Group) sentinelSettings() [][2]string {
	settings := [][2]string{
		{"down-after-milliseconds", fmt.Sprint(g.opts.DownAfter.Milliseconds())},
		// A failed attempt, or an attempt of another sentinel, delays the next attempt for twice
		// this time.
		{"failover-timeout", fmt.Sprint(4 * g.opts.DownAfter.Milliseconds())},
		{"parallel-syncs", "5"},
	}
	if g.opts.Password != "" {
		settings = append(settings, [2]string{"auth-pass", g.opts.Password})
	}
	return settings
}

// joinSentinels makes the sentinels of another group also watch the group's master.
func (g *Group) joinSentinels(master *Server) error {
	g.sentinels = g.opts.WatchedBy.Sentinels()
	host, port, _ := strings.Cut(g.addr(master), ":")
	for _, s := range g.sentinels {
		if err := s.call("SENTINEL MONITOR", g.opts.MasterName, host, port, len(g.sentinels)/2+1); err != nil {
			return err
		}
		for _, setting := range g.sentinelSettings() {
			if err := s.call("SENTINEL SET", g.opts.MasterName, setting[0], setting[1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// MasterName returns the sentinels' name for the master.
func (g *Group) MasterName() string { return g.opts.MasterName }

// Sentinels returns the sentinels, in the order in which they were started. They
// keep their state over Restart.
func (g *Group) Sentinels() []*Server { return slices.Clone(g.sentinels) }

// SentinelAddrs returns the addresses of Sentinels: with TLS, of their TLS ports.
func (g *Group) SentinelAddrs() []string { return g.addrs(g.sentinels) }

// WaitSentinels waits until all live sentinels name master, know each other and all
// servers of the group, consider no live server down, are not in TILT mode, and run no
// failover.
func (g *Group) WaitSentinels(master *Server) error {
	return g.wait("agreement of the sentinels", func() error {
		for _, s := range g.sentinels {
			if !s.live() {
				continue
			}
			if err := g.missing(s, master); err != nil {
				return fmt.Errorf("sentinel %s: %w", g.addr(s), err)
			}
		}
		return nil
	})
}

// missing returns an error with the first fact that a sentinel does not know yet.
func (g *Group) missing(sentinel, master *Server) error {
	m, err := fields(sentinel.Do("SENTINEL MASTER", g.opts.MasterName))
	if err != nil {
		return err
	}
	switch {
	case m["ip"]+":"+m["port"] != g.addr(master):
		return fmt.Errorf("the master is %s:%s", m["ip"], m["port"])
	case m["flags"] != "master":
		return fmt.Errorf("the master is %s", m["flags"])
	case m["num-slaves"] != fmt.Sprint(len(g.servers)-1):
		return fmt.Errorf("it knows %s replicas", m["num-slaves"])
	case m["num-other-sentinels"] != fmt.Sprint(len(g.sentinels)-1):
		return fmt.Errorf("it knows %s other sentinels", m["num-other-sentinels"])
	}
	if info, _ := sentinel.Do("INFO", "sentinel").([]byte); infoField(string(info), "sentinel_tilt") == "1" {
		return errors.New("it is in TILT mode")
	}
	replicas, _ := sentinel.Do("SENTINEL REPLICAS", g.opts.MasterName).([]any)
	for _, replica := range replicas {
		r, err := fields(replica)
		if err != nil {
			return err
		}
		for _, s := range g.Replicas(master) {
			if s.live() && g.addr(s) == r["ip"]+":"+r["port"] && (r["flags"] != "slave" || r["master-link-status"] != "ok") {
				return fmt.Errorf("replica %s is %s, its link %s", g.addr(s), r["flags"], r["master-link-status"])
			}
		}
	}
	return nil
}

// fields converts alternating names and values to a map.
func fields(res any) (map[string]string, error) {
	list, ok := res.([]any)
	if !ok {
		return nil, fmt.Errorf("answer is %v", res)
	}
	m := make(map[string]string)
	for i := 0; i+1 < len(list); i += 2 {
		m[fmt.Sprintf("%s", list[i])] = fmt.Sprintf("%s", list[i+1])
	}
	return m, nil
}

// Failover makes the sentinels promote a replica, and returns the new master when all of them name
// it. With Graceful (version 6.2 or later) no acknowledged write is lost: the old master stops
// answering writes before the promotion, and then disconnects its clients and becomes a replica.
// Failover waits until the group has settled. With Force, which is a plain SENTINEL FAILOVER, the
// old master continues as a master for about two seconds, or ten before version 7.0, and loses the
// writes that it acknowledges in that time: see WaitSettled.
func (g *Group) Failover(mode FailoverMode) (*Server, error) {
	old, err := g.Master()
	if err != nil {
		return nil, err
	}
	if mode == Graceful {
		if err := old.call("CLIENT PAUSE", g.opts.Timeout.Milliseconds(), "WRITE"); err != nil {
			return nil, err
		}
		if err := g.WaitReplicas(old); err != nil {
			return nil, err
		}
	}
	if err := g.askFailover(); err != nil {
		return nil, err
	}
	promoted, err := g.WaitPromoted(old)
	if err != nil || mode != Graceful {
		return promoted, err
	}
	host, port, _ := strings.Cut(g.addr(promoted), ":")
	for _, step := range []redis.Request{
		redis.Req("CLIENT KILL", "TYPE", "normal", "SKIPME", "yes"),
		redis.Req("REPLICAOF", host, port),
		redis.Req("CLIENT UNPAUSE"),
	} {
		// The sentinels also make the old master a replica, and disconnect all of its clients.
		if err := g.wait(step.Cmd, func() error { return old.call(step.Cmd, step.Args...) }); err != nil {
			return nil, err
		}
	}
	return promoted, g.WaitSettled(promoted)
}

// askFailover asks one sentinel after the other, because a sentinel that has just seen a
// failover refuses.
func (g *Group) askFailover() error {
	return g.wait("failover", func() error {
		err := errors.New("no sentinel is up")
		for _, s := range g.sentinels {
			if s.live() {
				if err = s.call("SENTINEL FAILOVER", g.opts.MasterName); err == nil {
					return nil
				}
			}
		}
		return err
	})
}

// WaitPromoted waits until all live sentinels name the same master, other than old,
// and returns it.
func (g *Group) WaitPromoted(old *Server) (promoted *Server, err error) {
	err = g.wait("another master than "+g.addr(old), func() error {
		promoted = nil
		for _, s := range g.sentinels {
			if !s.live() {
				continue
			}
			addr, _ := s.Do("SENTINEL GET-MASTER-ADDR-BY-NAME", g.opts.MasterName).([]any)
			if len(addr) != 2 {
				return fmt.Errorf("sentinel %s names none", g.addr(s))
			}
			named := fmt.Sprintf("%s:%s", addr...)
			i := slices.IndexFunc(g.servers, func(s *Server) bool { return g.addr(s) == named })
			if i < 0 || g.servers[i] == old || promoted != nil && g.servers[i] != promoted {
				return fmt.Errorf("sentinel %s names %s", g.addr(s), named)
			}
			promoted = g.servers[i]
		}
		if promoted == nil {
			return errors.New("no sentinel is up")
		}
		return nil
	})
	return promoted, err
}

// WaitSettled waits until all live servers follow the master and the sentinels agree. When a former
// master comes back, the sentinels make it a replica about two seconds later, or ten before version
// 7.0.
func (g *Group) WaitSettled(master *Server) error {
	if err := g.WaitReplicas(master); err != nil {
		return err
	}
	return g.WaitSentinels(master)
}
