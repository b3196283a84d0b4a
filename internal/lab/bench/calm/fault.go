package calm

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/testbed"
)

// fault is what happens to the servers while callers call.
type fault struct {
	name, text string
	outage     time.Duration // about how long nothing is answered
	start      func() (stage, error)
}

// stage is servers with a fault that can be made again and again.
type stage interface {
	servers() servers
	// counted returns the kinds of commands that servers run only for clients.
	counted() []int
	// ran returns how many commands of some kinds the servers have run or refused.
	ran(kinds []int) (int64, error)
	// fail makes the fault, and returns when clients can be answered again. It corrects the counts if a server
	// forgets its own.
	fail(c *counts) error
	// settle waits until the fault can be made again.
	settle() error
	close()
}

// counts are how many commands the servers had run, and clients had acknowledged, before the fault.
type counts struct {
	ran, before int64
	acked       func() int64 // acknowledged by now
}

func faults() (all []fault) {
	for _, d := range []time.Duration{50 * time.Millisecond, 300 * time.Millisecond, 2 * time.Second} {
		all = append(all, fault{"restart-" + d.String(), fmt.Sprint("a server is down for ", d), d, func() (stage, error) {
			s, err := testbed.Start(testbed.Options{Persist: true})
			return &restarted{s, d}, err
		}})
	}
	for _, killed := range []bool{false, true} {
		name, text := "graceful", "hands over gracefully"
		if killed {
			name, text = "kill", "is killed"
		}
		all = append(all,
			fault{"sentinel-" + name, "a master with sentinels " + text, 3 * time.Second, func() (stage, error) {
				g, err := testbed.StartGroup(testbed.GroupOptions{
					Options: testbed.Options{Persist: true}, Sentinels: 3, DownAfter: 3 * time.Second,
				})
				return &group{g, killed}, err
			}},
			fault{"cluster-" + name, "a master of 3+3 " + text, 3 * time.Second, func() (stage, error) {
				c, err := testbed.StartCluster(testbed.ClusterOptions{Options: testbed.Options{Persist: true}, NodeTimeout: time.Second})
				return &cluster{c, killed}, err
			}})
	}
	return all
}

var calls = regexp.MustCompile(`cmdstat_(\w+):calls=(\d+),\S*rejected_calls=(\d+)`)

// ranOn returns how many commands of some kinds the servers have run or refused.
func ranOn(kinds []int, all ...*testbed.Server) (sum int64, err error) {
	for _, s := range all {
		info, err := redis.As[string](s.Do("INFO", "commandstats"))
		if err != nil {
			return 0, err
		}
		for _, found := range calls.FindAllStringSubmatch(info, -1) {
			for _, k := range kinds {
				if found[1] == names[k] {
					n, _ := strconv.ParseInt(found[2], 10, 64)
					refused, _ := strconv.ParseInt(found[3], 10, 64)
					sum += n + refused
				}
			}
		}
	}
	return sum, nil
}

// restarted is a server that is killed and, after a while, started again.
type restarted struct {
	*testbed.Server
	outage time.Duration
}

func (r *restarted) servers() servers               { return servers{"redis", []string{r.Addr()}} }
func (r *restarted) counted() []int                 { return []int{gets, sets, incrs, pushes} }
func (r *restarted) ran(kinds []int) (int64, error) { return ranOn(kinds, r.Server) }
func (r *restarted) settle() error                  { return nil }
func (r *restarted) close()                         { r.Close() }

func (r *restarted) fail(c *counts) error {
	if err := r.Kill(); err != nil {
		return err
	}
	c.ran, c.before = 0, c.acked()
	time.Sleep(r.outage)
	return r.Restart()
}

// group is a master with replicas and sentinels.
type group struct {
	*testbed.Group
	killed bool
}

func (g *group) servers() servers { return servers{"redis-sentinel", g.SentinelAddrs()} }
func (g *group) counted() []int   { return []int{gets} }
func (g *group) close()           { g.Close() }

func (g *group) ran(kinds []int) (int64, error) { return ranOn(kinds, g.Servers()...) }

func (g *group) settle() error {
	master, err := g.Master()
	if err != nil {
		return err
	}
	return g.WaitSettled(master)
}

func (g *group) fail(c *counts) error {
	if !g.killed {
		_, err := g.Failover(testbed.Graceful)
		return err
	}
	old, err := g.Master()
	if err != nil {
		return err
	}
	return kill(c, gets, old, func() error {
		_, err := g.WaitPromoted(old)
		return err
	})
}

// kill kills a server, waits until another has replaced it, and starts it again.
func kill(c *counts, kind int, s *testbed.Server, replaced func() error) error {
	forgotten, err := ranOn([]int{kind}, s)
	if err == nil {
		err = s.Kill()
	}
	if err == nil {
		c.ran -= forgotten
		err = replaced()
	}
	if err != nil {
		return err
	}
	return s.Restart()
}

// cluster is three masters with a replica each.
type cluster struct {
	*testbed.Cluster
	killed bool
}

func (c *cluster) servers() servers { return servers{"redis-cluster", c.Addrs()} }
func (c *cluster) counted() []int   { return []int{gets} }
func (c *cluster) settle() error    { return c.WaitAgreed() }
func (c *cluster) close()           { c.Close() }

func (c *cluster) ran(kinds []int) (int64, error) {
	var all []*testbed.Server
	for _, n := range c.Nodes() {
		all = append(all, n.Server)
	}
	return ranOn(kinds, all...)
}

func (c *cluster) fail(n *counts) error {
	master, err := c.Owner(0)
	if err != nil {
		return err
	}
	replicas, err := c.Replicas(master)
	if err != nil {
		return err
	}
	if !c.killed {
		return c.Failover(replicas[0], testbed.Graceful)
	}
	return kill(n, gets, master.Server, func() error {
		for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			if owner, err := c.Owner(0); err == nil && owner != master {
				return nil
			}
			if time.Now().After(end) {
				return fmt.Errorf("calm: nobody has replaced %v", master)
			}
		}
	})
}
