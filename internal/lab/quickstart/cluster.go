package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/joomcode/redispipe/internal/live"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// clusterGoroutines share the Cluster. Each has its own key, so that together they use all masters.
const clusterGoroutines = 100

// demo is a load on a cluster whose slots and masters change during the load.
type demo struct {
	servers  *testbed.Cluster
	load     *load
	stats    func() live.Sample
	duration time.Duration // about how long a phase lasts that does not end by itself
	moved    int           // number of moved slots
}

// runCluster starts a cluster, runs the usage example on it, and then moves slots and fails over
// masters under load. It fails if requests fail while slots are moved.
func runCluster(ctx context.Context, duration time.Duration, opts redisconn.Opts) error {
	start := time.Now()
	servers, err := testbed.StartCluster(testbed.ClusterOptions{})
	if err != nil {
		return err
	}
	defer servers.Close()
	fmt.Printf("A cluster of 3 masters and 3 replicas, up in %s:\n", round(time.Since(start)))
	for _, addr := range servers.Addrs() {
		fmt.Println(" ", addr)
	}

	// One address is enough, because each node knows the others.
	cluster, err := rediscluster.NewCluster(ctx, servers.Addrs()[:1], rediscluster.Opts{
		Name:     "quickstart",
		Logger:   rediscluster.NoopLogger{}, // the default logger prints to the standard logger
		HostOpts: opts,
	})
	if err != nil {
		return err
	}
	defer cluster.Close()

	fmt.Println("\nThe usage example (internal/lab/quickstart/cluster_usage.go):")
	if err := clusterUsage(ctx, cluster); err != nil {
		return err
	}

	fmt.Printf("\nThe cluster changes while %d goroutines send SET and GET:\n", clusterGoroutines)
	d := &demo{
		servers: servers, load: &load{db: redis.SyncCtx{S: redis.WithRetry(cluster, redis.RetryOpts{})}}, duration: duration,
		stats: func() live.Sample { return live.Of(cluster.Stats()) },
	}
	d.load.start(ctx, clusterGoroutines)
	defer d.load.stop()
	chat, err := startChat(ctx, cluster)
	if err != nil {
		return err
	}
	return errors.Join(d.run(ctx), chat.report())
}

// run runs the phases. Only a killed master may cost calls: writes that it had received and not
// answered, and calls that wait longer than they may.
func (d *demo) run(ctx context.Context) error {
	fmt.Printf(phaseRow, "phase", "seconds", "requests", "errors")
	failed := int64(0)
	for _, p := range []struct {
		name     string
		change   func(context.Context) error
		harmless bool
	}{
		{"nothing changes", d.nothing, true},
		{"slots move, one after the other", d.moveSlots, true},
		{"a replica takes over gracefully", d.failover, false},
		{"a master is killed", d.kill, false},
		{"nothing changes", d.nothing, true},
	} {
		n, err := d.phase(ctx, p.name, p.change)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if p.harmless {
			failed += n
		}
	}
	paragraph("Requests are the calls that ended, and errors are those of them that failed.")
	paragraph(fmt.Sprintf("%d slots were moved, with their keys. A node redirects requests for slots that it has handed "+
		"over, and the client follows: moves cost no call, and a graceful takeover none as a rule. After the kill, the dead "+
		"master's slots have no master until the others elect its replica, which takes seconds. Calls for these slots wait "+
		"and are sent again, as are those that other masters refuse then (CLUSTERDOWN).", d.moved))
	d.load.explain()
	if failed > 0 {
		return fmt.Errorf("%d requests failed where none should", failed)
	}
	return nil
}

const phaseRow = "  %-32s  %8s  %10s  %8s\n"

// phase makes a change and prints how it affected the callers. It returns the number of errors.
func (d *demo) phase(ctx context.Context, name string, change func(context.Context) error) (int64, error) {
	start, requests, failed := time.Now(), d.load.latency.total(), d.load.errors.Load()
	show := liveSince(d.stats(), d.stats)
	stop := progress(func(elapsed time.Duration) string {
		return fmt.Sprintf("%s, %.1f s, %s errors so far:\n    %s", name, elapsed.Seconds(),
			thousands(d.load.errors.Load()-failed), show())
	})
	err := change(ctx)
	stop()
	if err = errors.Join(err, ctx.Err()); err != nil {
		return 0, err
	}
	failed = d.load.errors.Load() - failed
	fmt.Printf(phaseRow, name, fmt.Sprintf("%.1f", time.Since(start).Seconds()),
		thousands(d.load.latency.total()-requests), thousands(failed))
	return failed, nil
}

func (d *demo) nothing(ctx context.Context) error {
	pause(ctx, d.duration/2)
	return nil
}

// moveSlots moves slots that the load uses, each to the next master.
func (d *demo) moveSlots(ctx context.Context) error {
	end := time.Now().Add(d.duration)
	for i := 0; i < clusterGoroutines && time.Now().Before(end) && ctx.Err() == nil; i++ {
		slot, err := d.servers.Slot(key(i))
		if err != nil {
			return err
		}
		owner, err := d.servers.Owner(slot)
		if err != nil {
			return err
		}
		masters, err := d.servers.Masters()
		if err != nil {
			return err
		}
		if err := d.servers.MoveSlot(slot, after(masters, owner)); err != nil {
			return err
		}
		d.moved++
	}
	return nil
}

// after returns the node that follows n. The first node follows the last one.
func after(nodes []*testbed.Node, n *testbed.Node) *testbed.Node {
	for i := range nodes {
		if nodes[i] == n {
			return nodes[(i+1)%len(nodes)]
		}
	}
	return nodes[0]
}

// failover makes a master hand over its slots to its replica.
func (d *demo) failover(ctx context.Context) error {
	masters, err := d.servers.Masters()
	if err != nil {
		return err
	}
	replicas, err := d.servers.Replicas(masters[0])
	if err != nil {
		return err
	}
	if len(replicas) == 0 {
		return fmt.Errorf("%s has no replica", masters[0])
	}
	if err := d.servers.Failover(replicas[0], testbed.Graceful); err != nil {
		return err
	}
	return d.servers.WaitAgreed()
}

// kill ends a master by SIGKILL. After the node timeout the other nodes elect its replica.
func (d *demo) kill(ctx context.Context) error {
	masters, err := d.servers.Masters()
	if err != nil {
		return err
	}
	if err := masters[len(masters)-1].Kill(); err != nil {
		return err
	}
	if err := d.servers.WaitAgreed(); err != nil {
		return err
	}
	return d.load.answered(ctx)
}
