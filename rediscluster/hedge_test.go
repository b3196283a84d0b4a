package rediscluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

var hedgedReads = flag.Int("hedged", 5_000, "how many reads TestHedgedIdentities has sent to two nodes")

// identities holds keys. The value of each key is its own name.
type identities struct {
	db   redis.SyncCtx
	keys []string
}

func newIdentities(t testing.TB, c *Cluster, n int) *identities {
	t.Helper()
	ids := &identities{db: redis.SyncCtx{S: c.WithPolicy(MasterAndSlaves)}}
	for i := range n {
		key := "id:" + strconv.Itoa(i)
		ids.keys = append(ids.keys, key)
		require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", key, "value of "+key))
	}
	for _, key := range ids.keys {
		await(t, "replication", func() bool {
			for _, n := range c.topology.Load().Nodes {
				conn := n.Links[0].Conn
				if res := (redis.Sync{S: conn}).Do("GET", key); redis.AsError(res) == nil && res == nil {
					return false
				}
			}
			return true
		})
	}
	return ids
}

// foreign is the error of a read that returned another key's value.
type foreign string

func (f foreign) Error() string { return string(f) }

// read reads a key in one of several ways. It returns an error unless it gets the key's value.
func (ids *identities) read(ctx context.Context, i int) error {
	key := ids.keys[i%len(ids.keys)]
	want, got := "value of "+key, ""
	switch i % 5 {
	case 0:
		if err := ids.db.DoInto(ctx, &got, "GET", key); err != nil {
			return err
		}
	case 1:
		buf := make([]byte, 0, 64)
		if err := ids.db.DoInto(ctx, &buf, "GET", key); err != nil {
			return err
		}
		got = string(buf)
	case 2:
		value, err := redis.DoAs[string](ctx, ids.db.S, "GET", key)
		if err != nil {
			return err
		}
		got = value
	case 3:
		return ids.readMany(ctx, i)
	default:
		switch res := ids.db.Do(ctx, "GET", key).(type) {
		case []byte:
			got = string(res)
		case error:
			return res
		}
	}
	if got != want {
		return foreign(fmt.Sprintf("%q instead of %q", got, want))
	}
	return nil
}

// manyReads is how many keys readMany reads.
const manyReads = 4

// readMany is read for some keys, in one batch.
func (ids *identities) readMany(ctx context.Context, i int) error {
	reqs := make([]redis.Request, manyReads)
	for j := range reqs {
		reqs[j] = redis.Req("GET", ids.keys[(i+j)%len(ids.keys)])
	}
	for j, res := range ids.db.SendMany(ctx, reqs) {
		if err := redis.Err(res); err != nil {
			return err
		}
		if want := "value of " + ids.keys[(i+j)%len(ids.keys)]; string(res.([]byte)) != want {
			return foreign(fmt.Sprintf("%q instead of %q", res, want))
		}
	}
	return nil
}

// Every caller gets the value of its own key, no matter how the two copies of a read race, or which
// callers have left.
func TestHedgedIdentities(t *testing.T) {
	drill.Rotate(t)
	tb := sharedCluster(t)
	late := lateness{of: 30, by: 3 * time.Millisecond}
	opts := calm
	opts.Hedge, opts.RoundRobinSeed, opts.HostOpts.Dialer = true, &FairRoundRobinSeed{}, late.dial
	c, _ := connect(t, tb.Addrs(), opts)
	ids := newIdentities(t, c, 100)
	c.rules.Budget, c.rules.Hedge = send.NewBudget(new(plenty), send.BudgetShare), send.NewBudget(new(plenty), hedgeShare)
	late.on.Store(true)
	var done atomic.Bool
	var all sync.WaitGroup
	var reads, left atomic.Int64
	for g := range 64 {
		all.Go(func() {
			for i := g; !done.Load() && !t.Failed(); i++ {
				ctx, cancel := context.Background(), context.CancelFunc(func() {})
				if i%8 == 0 {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(i%64)*20*time.Microsecond)
				}
				err := ids.read(ctx, i)
				cancel()
				reads.Add(1)
				var wrong foreign
				if i%8 == 0 && err != nil && !errors.As(err, &wrong) {
					left.Add(1)
				} else if !assert.NoError(t, err) {
					return
				}
			}
		})
	}
	want := uint64(*hedgedReads)
	if testing.Short() {
		want /= 10
	}
	for hedged := uint64(0); hedged < want && !t.Failed(); {
		hedged = min(hedged+500, want)
		await(t, "hedged reads", func() bool { return c.rules.Hedged.Load() >= hedged || t.Failed() })
	}
	done.Store(true)
	all.Wait()
	t.Log(reads.Load(), "reads,", c.Stats().Hedged, "hedged,", left.Load(), "left")
	require.NoError(t, c.Shutdown(context.Background()))
	assert.Zero(t, c.accepted.Load())
}

// When a replica freezes, the other replica answers every read, and few reads are sent twice.
func TestHedgeAroundFrozenReplica(t *testing.T) {
	drill.Rotate(t)
	tb := sharedCluster(t)
	opts := calm
	opts.Hedge, opts.HostOpts = true, redisconn.Opts{IOTimeout: time.Minute}
	c, _ := connect(t, tb.Addrs(), opts)
	c.rules.Budget = send.NewBudget(new(plenty), send.BudgetShare) // on a busy machine all nodes stall now and then
	ids := newIdentities(t, c, 100)
	var reads atomic.Int64
	read := func(n int) {
		var all sync.WaitGroup
		for g := range 64 {
			all.Go(func() {
				for i := range n {
					reads.Add(1)
					if !assert.NoError(t, ids.read(context.Background(), g+7*i)) {
						return
					}
				}
			})
		}
		all.Wait()
	}
	read(200)
	slot, _ := owner(t, tb, ids.keys[0])
	node := nodeOf(t, tb, c.topology.Load().Shard(slot).Nodes[1].Addr)
	require.NoError(t, node.Pause())
	defer func() { _ = node.Resume() }()
	read(200)
	spent := c.Stats().Hedged * (hedgeShare + 1) // a read that is sent twice counts as two requests
	assert.LessOrEqual(t, spent, send.BudgetFirst*send.BudgetShare+c.rules.Hedge.Counter.Requests())
	t.Log(reads.Load(), "reads,", c.Stats().Hedged, "hedged")
}
