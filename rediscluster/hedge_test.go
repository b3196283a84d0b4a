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

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/route"
	"github.com/joomcode/redispipe/redisconn"
)

var hedgedReads = flag.Int("hedged", 20_000, "how many reads TestHedgedIdentities has sent to two nodes")

// identities are keys whose values name them.
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
	for _, key := range ids.keys { // a replica has it when it has all that came before
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

// foreign says that a value is another key's.
type foreign string

func (f foreign) Error() string { return string(f) }

// read reads a key in one of several ways. It returns an error unless it gets the key's value.
func (ids *identities) read(ctx context.Context, i int) error {
	key := ids.keys[i%len(ids.keys)]
	want, got := "value of "+key, ""
	switch i % 4 {
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

// Callers get their own values, however their reads race, and whether or not they still wait.
func TestHedgedIdentities(t *testing.T) {
	tb := sharedCluster(t)
	opts := calm
	opts.Hedge, opts.RoundRobinSeed = true, &FairRoundRobinSeed{}
	c, _ := connect(t, tb.Addrs(), opts)
	ids := newIdentities(t, c, 100)
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
	always := func(time.Duration, time.Duration) bool { return true }
	want := uint64(*hedgedReads)
	if testing.Short() {
		want /= 10
	}
	for c.Stats().Hedged < want && !t.Failed() { // more than the budget allows, and sooner
		c.hedger.hedge(always)
	}
	done.Store(true)
	all.Wait()
	t.Log(reads.Load(), "reads,", c.Stats().Hedged, "hedged,", left.Load(), "left")
	require.NoError(t, c.Shutdown(context.Background()))
	assert.Zero(t, c.accepted.Load())
}

// withdrawing is the queue of a ticket.
type withdrawing func() bool

func (w withdrawing) Withdraw(uint64) bool { return w() }

// If a read may have run on one of two nodes, its error is not "not sent", even if the other node
// did not get it.
func TestHedgedReadMayHaveRun(t *testing.T) {
	c := &Cluster{}
	c.closed.Store(true) // nothing is sent again
	link := &route.Link{Node: c.rules.NewNode("a:1", true, "")}
	lost, unsent := redis.ErrIO.New("lost"), redisconn.ErrNotConnected.New("not connected")
	twice := func() (s *sentTwice, got *any) {
		got = new(any)
		s = &sentTwice{c: c, open: 1}
		s.a = c.newAttempt(&send.Request{}, redis.FuncFuture(func(res any, _ uint64) { *got = res }), 0)
		s.legs[0].of, s.legs[0].link = s, link
		return s, got
	}
	second := func(s *sentTwice) {
		s.legs[1].of, s.legs[1].link = s, link
		s.open++
	}
	for _, failures := range [][2]error{{lost, unsent}, {unsent, lost}} {
		s, got := twice()
		second(s)
		s.legs[0].Resolve(failures[0], 0)
		require.Nil(t, *got)
		s.legs[1].Resolve(failures[1], 0)
		require.Equal(t, redis.OutcomeUnknown, redis.OutcomeOf(*got), "%v", *got)
	}

	for _, taken := range []bool{true, false} {
		s, got := twice()
		second(s)
		s.legs[0].ticket.Queue = withdrawing(func() bool { return taken })
		s.legs[1].Resolve(redis.ErrLoading.New("loading"), 0)
		_, ran := redis.AsErrorx(*got).Property(errs.EKEarlier)
		require.Equal(t, !taken, ran)
	}

	s, got := twice()
	s.legs[0].ticket.Queue = withdrawing(func() bool { // while the timer sends it to a second node
		second(s)
		s.legs[1].Resolve(lost, 0)
		return true
	})
	require.False(t, s.Withdraw(0))
	require.Equal(t, redis.OutcomeUnknown, redis.OutcomeOf(*got), "%v", *got)
}

// The less time a hedge would save, the longer a read waits before it is hedged.
func TestHedgeBudget(t *testing.T) {
	const slow = time.Millisecond
	g := &hedger{}
	assert.False(t, g.may(time.Hour, 0), "nothing is saved")
	g.saved.Store(hedgeSaved)
	assert.False(t, g.may(slow, slow))
	hedged := 0
	for g.may(slow+1, slow) {
		hedged++
	}
	assert.InDelta(t, hedgeSaved/hedgeOf/2, hedged, 1)
	g.saved.Store(hedgeSaved / 8)
	assert.False(t, g.may(4*slow, slow))
	assert.True(t, g.may(4*slow+1, slow))
	for g.may(time.Minute, slow) {
		hedged++
	}
	assert.InDelta(t, hedgeSaved/hedgeOf*5/8, hedged+1, 2, "the last ones wait for the longest time")
	assert.Less(t, g.saved.Load(), int64(hedgeOf))
}

// When a replica freezes, its sibling answers every read, and few reads are sent twice.
func TestHedgeAroundFrozenReplica(t *testing.T) {
	drill.Halved(t)
	tb := sharedCluster(t)
	opts := calm
	opts.Hedge, opts.HostOpts = true, redisconn.Opts{IOTimeout: time.Minute}
	c, _ := connect(t, tb.Addrs(), opts)
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
	assert.LessOrEqual(t, c.Stats().Hedged, uint64(reads.Load()/hedgeOf))
	t.Log(reads.Load(), "reads,", c.Stats().Hedged, "hedged")
}
