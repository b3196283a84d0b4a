package lock

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/testbed"
)

// While callers of several processes wait in the queue of a key, its slot moves from node to node. There is never more than
// one holder, tokens grow, and no caller is forgotten: with this TTL, a caller that misses its message waits for too long.
func TestFairWhileTheSlotMoves(t *testing.T) {
	const processes, callers, moves = 3, 4, 12
	cluster := testbed.NewCluster(t, testbed.ClusterOptions{Replicas: -1})
	var all sync.WaitGroup
	defer all.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 5*patience)
	defer cancel()
	var holders, token, granted atomic.Int64
	var moved atomic.Bool
	for range processes {
		client, err := redispipe.Open(t.Context(), "redis-cluster://"+strings.Join(cluster.Addrs(), ","), redispipe.Logger(nil))
		require.NoError(t, err)
		t.Cleanup(client.Close)
		l, err := New(client, Opts{TTL: time.Hour, Fair: true})
		require.NoError(t, err)
		for range callers {
			all.Go(func() {
				for !moved.Load() {
					held, err := l.Lock(ctx, "a")
					if err != nil {
						t.Error(err)
						return
					}
					if n, last := holders.Add(1), token.Swap(held.Token()); n != 1 || last >= held.Token() || held.Context().Err() != nil {
						t.Error(n, "holders, token", held.Token(), "after", last, context.Cause(held.Context()))
					}
					granted.Add(1)
					holders.Add(-1)
					if err := held.Unlock(ctx); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	slot, err := cluster.Slot("lock:a")
	require.NoError(t, err)
	for i := range moves {
		before := granted.Load()
		require.NoError(t, cluster.MoveSlot(slot, cluster.Node(i%3)))
		require.Eventually(t, func() bool { return granted.Load() > before+processes*callers }, patience, time.Millisecond, "the queue goes on")
	}
	moved.Store(true)
	all.Wait()
}
