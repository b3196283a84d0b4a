package rediscluster_test

import (
	"context"
	"fmt"
	"log"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
)

// exampleCluster returns the addresses of a cluster of three masters, each with a replica. master and
// replica are the addresses of the two nodes that have "key".
func exampleCluster() (addrs []string, master, replica string) {
	tb, err := rediscluster.ThreeShards()
	if err != nil {
		log.Fatal(err)
	}
	return tb.Addrs(), tb.Node(2).Addr(), tb.Node(5).Addr()
}

// traffic is a logger that counts the reads that the master and its replica answer.
type traffic struct {
	rediscluster.NoopLogger // ignores events
	master                  string
	byMaster, byReplica     atomic.Int64
}

// ReqStat is called with each answered request.
func (t *traffic) ReqStat(_ *rediscluster.Cluster, conn *redisconn.Connection, req redis.Request, _ any, _, _, _ int64) {
	switch {
	case req.Cmd != "GET": // a write, or a request of the cluster itself
	case conn.Addr() == t.master:
		t.byMaster.Add(1)
	default:
		t.byReplica.Add(1)
	}
}

// The caller knows whether a read may return an old value. Each policy is a separate sender, which
// shares the connections of the cluster.
func ExampleCluster_WithPolicy() {
	addrs, master, _ := exampleCluster()
	ctx := context.Background()
	t := &traffic{master: master}
	cluster, err := rediscluster.NewCluster(ctx, addrs, rediscluster.Opts{
		HostOpts: redisconn.Opts{IOTimeout: 10 * time.Second},
		Logger:   t,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer cluster.Close()

	strict := redis.SyncCtx{S: cluster}                                             // the master answers everything
	feeds := redis.SyncCtx{S: cluster.WithPolicy(rediscluster.PreferSlaves)}        // replicas answer most reads
	scripts := redis.SyncCtx{S: cluster.WithPolicy(rediscluster.ForcePreferSlaves)} // for scripts that only read

	strict.Do(ctx, "SET", "key", "value")
	strict.Do(ctx, "GET", "key")
	fmt.Println("strict:", t.byMaster.Load() > 0, t.byReplica.Load() > 0)

	// A replica is read from once it is connected and in sync.
	for t.byReplica.Load() == 0 {
		feeds.Do(ctx, "GET", "key")
	}
	fmt.Println("feeds:", feeds.Do(ctx, "SET", "key", "a write goes to the master"))

	// If such a script writes after all, the replica refuses it, and it goes to the master.
	fmt.Println("scripts:", scripts.Do(ctx, "EVAL", "return redis.call('SET', KEYS[1], 1)", 1, "key"))
	// Output:
	// strict: true false
	// feeds: OK
	// scripts: OK
}

// weights holds the weights of hosts. A host of weight 0, here one that is far away, is read from only if
// there is no other.
type weights map[string]uint32

func (w weights) GetWeightByHost(host string) (uint32, bool) {
	weight, known := w[host]
	return weight, known // a host without a weight counts as 1
}

func ExampleWeightProvider() {
	addrs, near, far := exampleCluster()
	ctx := context.Background()
	t := &traffic{master: near}
	cluster, err := rediscluster.NewCluster(ctx, addrs, rediscluster.Opts{
		HostOpts:       redisconn.Opts{IOTimeout: 10 * time.Second}, // long, because without the master reads go to the replica of weight 0
		WeightProvider: weights{far: 0},
		Logger:         t,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer cluster.Close()

	reads := redis.SyncCtx{S: cluster.WithPolicy(rediscluster.MasterAndSlaves)}
	for range 100 {
		reads.Do(ctx, "GET", "key")
	}
	fmt.Println(t.byMaster.Load(), t.byReplica.Load())
	// Output: 100 0
}

// Shutdown waits until all accepted requests are answered, including their redirects and retries.
func ExampleCluster_Shutdown() {
	addrs, _, _ := exampleCluster()
	cluster, err := rediscluster.NewCluster(context.Background(), addrs, rediscluster.Opts{Logger: rediscluster.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	defer cluster.Close() // does nothing after Shutdown
	answered := redis.ChanFutured{S: cluster}.Send(redis.Req("SET", "key", "value"))

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := cluster.Shutdown(ctx); err != nil {
		log.Print(err) // says how many requests were left
	}
	fmt.Println(answered.Value())
	// Output: OK
}

// events is a logger that reports what happens to a cluster and its connections.
type events struct {
	rediscluster.NoopLogger // ignores statistics
	masters                 chan int
}

func (l events) Report(_ *rediscluster.Cluster, event rediscluster.LogEvent) {
	switch e := event.(type) {
	case rediscluster.LogTopologyChanged: // slots, nodes or roles have changed
		l.masters <- len(e.Masters)
	case rediscluster.LogHostEvent: // an event of one connection
		if lost, ok := e.Event.(redisconn.LogDisconnected); ok {
			log.Printf("%s is disconnected: %v", e.Conn.Addr(), lost.Error)
		}
	case rediscluster.LogClusterSlotsError:
		log.Printf("%s does not return the slots: %v", e.Conn.Addr(), e.Error)
	}
}

// WantsReqStat returns false, so that the cluster collects no statistics.
func (events) WantsReqStat() bool { return false }

func ExampleLogger() {
	addrs, _, _ := exampleCluster()
	l := events{masters: make(chan int, 100)} // buffered, so that the logger does not block the cluster
	cluster, err := rediscluster.NewCluster(context.Background(), addrs, rediscluster.Opts{Logger: l})
	if err != nil {
		log.Fatal(err)
	}
	defer cluster.Close()
	fmt.Println("masters:", <-l.masters)
	// Output: masters: 3
}
