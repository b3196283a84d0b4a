package calm

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/testbed"
)

// Reads of a cluster's replicas while one of them is frozen.
const (
	readers      = 64
	readDeadline = 500 * time.Millisecond
	notices      = 50 * time.Millisecond // after the freeze
	thaws        = 5 * time.Second
	readKeys     = 300
)

// readers of replicas, by name.
var replicaReaders = []struct {
	name string
	open func(servers) (client, error)
}{
	{"redispipe", func(at servers) (client, error) { return replicaPipe(at, false) }},
	{"redispipe with `Hedge`", func(at servers) (client, error) { return replicaPipe(at, true) }},
	{"go-redis", func(at servers) (client, error) {
		return goRedis{c: goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: at.addrs, RouteRandomly: true})}, nil
	}},
	{"rueidis", func(at servers) (client, error) {
		c, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: at.addrs, SendToReplicas: func(cmd rueidis.Completed) bool { return cmd.IsReadOnly() },
		})
		return rueidisClient{c: c}, err
	}},
}

func replicaPipe(at servers, hedge bool) (client, error) {
	c, err := redispipe.Open(context.Background(), at.url(), quiet, redispipe.Cluster(func(o *rediscluster.Opts) { o.Hedge = hedge }))
	if err != nil {
		return nil, err
	}
	return pipe{c: c.WithPolicy(rediscluster.MasterAndSlaves)}, nil
}

// Freeze stops a replica with SIGSTOP under readers, and lets it continue. It returns a table in Markdown.
func (c Config) Freeze() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s: %s.\n\n", time.Now().UTC().Format("2006-01-02"), versions())
	b.WriteString("| client | reads in a call | calls that failed | good calls after 50 ms, of those before | the replica's share 5 s after the thaw, of that before |\n|---|---:|---:|---:|---:|\n")
	nodes, err := testbed.StartCluster(testbed.ClusterOptions{NodeTimeout: time.Minute})
	if err != nil {
		return "", err
	}
	defer nodes.Close()
	for _, reads := range []int{1, 10} {
		for _, r := range replicaReaders {
			if !c.wants(r.name) {
				continue
			}
			row, err := freeze(nodes, r.open, reads)
			if err != nil {
				return b.String(), fmt.Errorf("%s: %w", r.name, err)
			}
			row = fmt.Sprintf("| %s | %d | %s |\n", r.name, reads, row)
			b.WriteString(row)
			fmt.Fprint(c.Log, row)
		}
	}
	return b.String(), nil
}

// freeze returns the rest of a row.
func freeze(nodes *testbed.Cluster, open func(servers) (client, error), reads int) (string, error) {
	c, err := open(servers{"redis-cluster", nodes.Addrs()})
	if err != nil {
		return "", err
	}
	defer c.close()
	master, err := nodes.Owner(0)
	if err != nil {
		return "", err
	}
	replicas, err := nodes.Replicas(master)
	if err != nil {
		return "", err
	}
	replica := replicas[0].Server
	var good, failed atomic.Int64
	stop := readAll(c, reads, &good, &failed)
	defer stop()
	rate := func(d time.Duration) int64 {
		begun := good.Load()
		time.Sleep(d)
		return good.Load() - begun
	}
	share := func() (float64, error) {
		begun, err := ranOn([]int{gets}, replica)
		if err != nil {
			return 0, err
		}
		calls := rate(time.Second)
		ended, err := ranOn([]int{gets}, replica)
		return float64(ended-begun) / float64(max(calls, 1)), err
	}
	time.Sleep(settles)
	healthy, err := share()
	if err != nil {
		return "", err
	}
	before := rate(time.Second)
	failed.Store(0)
	if err := replica.Pause(); err != nil {
		return "", err
	}
	time.Sleep(notices)
	frozen := rate(time.Second)
	errors := failed.Load()
	if err := replica.Resume(); err != nil {
		return "", err
	}
	time.Sleep(thaws)
	back, err := share()
	part := "–" // if the client has not read from this replica before
	if healthy > 0 {
		part = fmt.Sprintf("%.2f", back/healthy)
	}
	return fmt.Sprintf("%d | %.2f | %s", errors, float64(frozen)/float64(before), part), err
}

// readAll reads without pause, and counts the calls, until stop is called.
func readAll(c client, reads int, good, failed *atomic.Int64) (stop func()) {
	var stopped atomic.Bool
	var all sync.WaitGroup
	for i := range readers {
		all.Go(func() {
			for n := i; !stopped.Load(); n += reads {
				if read(c, n, reads) {
					good.Add(1)
				} else {
					failed.Add(1)
				}
			}
		})
	}
	return func() {
		stopped.Store(true)
		all.Wait()
	}
}

// read reports whether a call read its keys, which do not exist.
func read(c client, n, reads int) bool {
	ctx, cancel := context.WithTimeout(context.Background(), readDeadline)
	defer cancel()
	key := func(i int) string { return fmt.Sprint("key:", i%readKeys) }
	if reads == 1 {
		return c.do(ctx, "GET", key(n)) == nil
	}
	cmds := make([][]string, reads)
	for i := range cmds {
		cmds[i] = []string{"GET", key(n + i)}
	}
	for _, res := range c.batch(ctx, cmds) {
		if res != nil {
			return false
		}
	}
	return true
}
