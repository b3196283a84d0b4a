package rediscluster

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/testbed"
)

// wholeMoves moves the slot of a hash tag from master to master, each time with all keys at once. At the same
// time it calls work again and again, with the number of the call, until work returns false or there were
// enough calls.
func wholeMoves(t *testing.T, work func(t *testing.T, c *Cluster, tag string, round int) bool) {
	testbed.Needs(t, testbed.AtomicMigration)
	tb := sharedMasters.of(t)
	c, _ := connect(t, tb.Addrs(), calm)
	const tag = "{moving}"
	slot, from := owner(t, tb, tag)
	var moves atomic.Int64
	done := make(chan struct{})
	var mover sync.WaitGroup
	mover.Go(func() {
		nodes := tb.Nodes()
		for at := slices.Index(nodes, from); ; {
			select {
			case <-done:
				return
			default:
			}
			at = (at + 1) % len(nodes)
			if !assert.NoError(t, tb.MoveSlotWhole(slot, nodes[at])) {
				return
			}
			moves.Add(1)
		}
	})
	func() {
		defer mover.Wait()
		defer close(done)
		for round := 0; work(t, c, tag, round) || moves.Load() < 4 && !t.Failed(); round++ {
		}
	}()
	t.Logf("%d moves, %d followed", moves.Load(), c.Stats().Moved)
	assert.Zero(t, c.Stats().Asked)
}

// While slots move with all keys at once, no caller notices, and nothing is lost or done twice.
func TestWholeMoveOfRequests(t *testing.T) {
	rounds := 0
	wholeMoves(t, func(t *testing.T, c *Cluster, tag string, round int) bool {
		rounds++
		s := redis.Sync{S: c}
		require.Equal(t, int64(rounds), s.Do("INCR", tag+"n"))
		got, err := s.SendTransaction([]redis.Request{redis.Req("INCR", tag+"a"), redis.Req("INCR", tag+"b")})
		require.NoError(t, err)
		require.Equal(t, []any{int64(rounds), int64(rounds)}, got)
		for i, res := range s.SendMany([]redis.Request{redis.Req("INCR", tag+"c"), redis.Req("GET", "elsewhere"), redis.Req("INCR", tag+"d")}) {
			require.NoError(t, redis.AsError(res), i)
		}
		return round < 200
	})
}

func TestWholeMoveOfWatch(t *testing.T) {
	rounds := 0
	wholeMoves(t, func(t *testing.T, c *Cluster, tag string, round int) bool {
		if rounds++; rounds == 1 {
			require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", tag+"n", 0))
		}
		_, err := redis.Watch(t.Context(), c, []string{tag + "n"}, func(tx *redis.Tx) error {
			var n int
			if err := tx.DoInto(&n, "GET", tag+"n"); err != nil {
				return err
			}
			tx.Queue("SET", tag+"n", n+1)
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, fmt.Appendf(nil, "%d", rounds), redis.Sync{S: c}.Do("GET", tag+"n"))
		return round < 200
	})
}

func TestWholeMoveOfScans(t *testing.T) { scanOverWholeMoves(t, "SCAN") }

func TestWholeMoveOfClusterScans(t *testing.T) {
	testbed.Needs(t, testbed.ClusterScan)
	scanOverWholeMoves(t, "CLUSTERSCAN")
}

func scanOverWholeMoves(t *testing.T, cmd string) {
	const keys = 500
	wholeMoves(t, func(t *testing.T, c *Cluster, tag string, round int) bool {
		if round == 0 {
			for i := range keys {
				require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", fmt.Sprint(tag, i), i))
				require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", fmt.Sprint("other", i), i))
			}
		}
		seen := map[string]bool{}
		for key, err := range redis.Keys(t.Context(), c, redis.ScanOpts{Cmd: cmd, Count: 20}) {
			require.NoError(t, err)
			seen[key] = true
		}
		for i := range keys {
			require.True(t, seen[fmt.Sprint(tag, i)], i)
			require.True(t, seen[fmt.Sprint("other", i)], i)
		}
		return round < 10
	})
}

// While slots move, a blocking command pops each pushed element once and in order.
func TestWholeMoveOfBlocking(t *testing.T) {
	const elements = 300
	var popped []string
	ended := make(chan struct{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	wholeMoves(t, func(t *testing.T, c *Cluster, tag string, round int) bool {
		if round == 0 {
			go func() {
				defer close(ended)
				for len(popped) == 0 || popped[len(popped)-1] != "end" {
					var got []string
					if !assert.NoError(t, redis.SyncCtx{S: c}.DoInto(ctx, &got, "BLPOP", tag+"queue", 0)) {
						return
					}
					popped = append(popped, got[1])
				}
			}()
		}
		if round > elements { // enough moves
			return false
		}
		element := fmt.Sprint(round)
		if round == elements {
			element = "end"
		}
		require.NoError(t, redis.AsError(redis.Sync{S: c}.Do("RPUSH", tag+"queue", element)))
		return true
	})
	<-ended
	require.Len(t, popped, elements+1)
	for i := range elements {
		require.Equal(t, fmt.Sprint(i), popped[i])
	}
}
