package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/joomcode/redispipe/internal/live"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/testbed"
)

// sentinelDemo is a load on a master that sentinels watch and replace during the load.
type sentinelDemo struct {
	demo
	group *testbed.Group
}

// runSentinel starts a master with replicas and sentinels, and makes replicas take over under load.
func runSentinel(ctx context.Context, duration time.Duration) error {
	start := time.Now()
	group, err := testbed.StartGroup(testbed.GroupOptions{Options: testbed.Options{Persist: true}, Sentinels: 3})
	if err != nil {
		return err
	}
	defer group.Close()
	fmt.Printf("A master and 2 replicas, with 3 sentinels, up in %s:\n", round(time.Since(start)))
	for _, addr := range group.Addrs() {
		fmt.Println("  server  ", addr)
	}
	for _, addr := range group.SentinelAddrs() {
		fmt.Println("  sentinel", addr)
	}

	// One sentinel is enough: it reports the others.
	client, err := rediscluster.NewSentinel(ctx, group.SentinelAddrs()[:1], group.MasterName(), rediscluster.Opts{
		Logger: rediscluster.NoopLogger{}, // the default one prints to the standard logger
	})
	if err != nil {
		return err
	}
	defer client.Close()

	fmt.Printf("\nThe master changes while %d goroutines send SET and GET:\n", clusterGoroutines)
	d := &sentinelDemo{demo{
		load: &load{db: redis.SyncCtx{S: redis.WithRetry(client, redis.RetryOpts{})}}, duration: duration,
		stats: func() live.Sample { return live.Of(client.Stats()) },
	}, group}
	d.load.start(ctx, clusterGoroutines)
	defer d.load.stop()
	fmt.Printf(phaseRow, "phase", "seconds", "requests", "errors")
	for _, p := range []struct {
		name   string
		change func(context.Context) error
	}{
		{"nothing changes", d.nothing},
		{"a replica takes over gracefully", d.graceful},
		{"all sentinels are down", d.withoutSentinels},
		{"the master is killed", d.killMaster},
		{"nothing changes", d.nothing},
	} {
		if _, err := d.phase(ctx, p.name, p.change); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	paragraph("Requests are the calls that ended, and errors are those of them that failed.")
	paragraph(fmt.Sprintf("In a graceful takeover the old master holds back writes, and then it closes its connections: "+
		"each of the %d goroutines may have one write there, and does not learn whether it ran. Only a cluster redirects "+
		"such writes. Without sentinels, the client stays with the master that it knows. After the kill there is no master "+
		"until the sentinels elect a replica, which takes seconds. Calls wait for it, 3 s at most.", clusterGoroutines))
	d.load.explain()
	return nil
}

func (d *sentinelDemo) graceful(ctx context.Context) error {
	if _, err := d.group.Failover(testbed.Graceful); err != nil {
		return err
	}
	return d.load.answered(ctx)
}

// withoutSentinels kills all sentinels and restarts them: the traffic continues.
func (d *sentinelDemo) withoutSentinels(ctx context.Context) error {
	master, err := d.group.Master()
	if err != nil {
		return err
	}
	for _, s := range d.group.Sentinels() {
		err = errors.Join(err, s.Kill())
	}
	pause(ctx, d.duration/2)
	for _, s := range d.group.Sentinels() {
		err = errors.Join(err, s.Restart())
	}
	return errors.Join(err, d.group.WaitSentinels(master))
}

// killMaster ends the master by SIGKILL: the sentinels elect a replica once it has been
// silent for a second.
func (d *sentinelDemo) killMaster(ctx context.Context) error {
	master, err := d.group.Master()
	if err != nil {
		return err
	}
	if err := master.Kill(); err != nil {
		return err
	}
	if _, err := d.group.WaitPromoted(master); err != nil {
		return err
	}
	return d.load.answered(ctx)
}
