package virtualpeers

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	own "github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisvirtual"
	"github.com/joomcode/redispipe/testbed"
)

// The cluster client of go-redis uses the shared connection to each node, follows moving slots, and
// reads from replicas.
func TestCluster(t *testing.T) {
	nodes := testbed.NewCluster(t)
	ctx := context.Background()
	shared, err := rediscluster.NewCluster(ctx, nodes.Addrs(), rediscluster.Opts{
		HostOpts: redisconn.Opts{IOTimeout: 20 * time.Second}, Logger: rediscluster.NoopLogger{},
	})
	require.NoError(t, err)
	defer shared.Close()
	for _, replicas := range []bool{false, true} {
		dialed := &sockets{dial: redisvirtual.Dialer(shared), to: map[string]bool{}}
		rdb := redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: nodes.Addrs()[:1], Dialer: dialed.DialContext, ReadTimeout: time.Minute, PoolSize: 100, RouteRandomly: replicas,
		})
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				key := fmt.Sprint("cluster:", replicas, i)
				for n := range 300 {
					if got, err := rdb.Incr(ctx, key).Result(); err != nil || got != int64(n+1) {
						t.Error(got, err)
						return
					}
				}
			})
		}
		for i := range 8 {
			slot, err := nodes.Slot(fmt.Sprint("cluster:", replicas, i))
			require.NoError(t, err)
			owner, err := nodes.Owner(slot)
			require.NoError(t, err)
			masters, err := nodes.Masters()
			require.NoError(t, err)
			to := masters[0]
			if to == owner {
				to = masters[1]
			}
			require.NoError(t, nodes.MoveSlot(slot, to))
		}
		all.Wait()
		for i := range 8 {
			key := fmt.Sprint("cluster:", replicas, i)
			require.Eventually(t, func() bool { return rdb.Get(ctx, key).Val() == "300" }, time.Minute, time.Millisecond)
			_, err := rdb.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Incr(ctx, key).Err() })
			require.NoError(t, err)
		}
		require.Empty(t, dialed.to)
		require.NoError(t, rdb.Close())
	}
}

// If go-redis speaks RESP2, the error of its first command says which option to set.
func TestClusterProtocol(t *testing.T) {
	nodes := testbed.NewCluster(t)
	ctx := context.Background()
	shared, err := rediscluster.NewCluster(ctx, nodes.Addrs(), rediscluster.Opts{
		HostOpts: redisconn.Opts{IOTimeout: 20 * time.Second, Protocol: 3}, Logger: rediscluster.NoopLogger{},
	})
	require.NoError(t, err)
	defer shared.Close()
	for _, protocol := range []int{2, 3} {
		rdb := redis.NewClient(&redis.Options{
			Dialer:   func(context.Context, string, string) (net.Conn, error) { return redisvirtual.Conn(shared), nil },
			Protocol: protocol,
		})
		for i := range 20 {
			err := rdb.Set(ctx, fmt.Sprint("protocol:", i), "v", 0).Err()
			if protocol == 3 {
				require.NoError(t, err)
				continue
			}
			require.ErrorContains(t, err, "let the client send HELLO 3")
			require.Equal(t, own.OutcomeNotSent, own.OutcomeOf(err))
			break // go-redis dialed again, and waited before it reported the error
		}
		require.NoError(t, rdb.Close())
	}
}

// A transaction with keys of two slots fails at EXEC, and go-redis keeps its connection, because no
// reply is left over for the next command.
func TestTransactionOfTwoSlots(t *testing.T) {
	ctx := context.Background()
	shared, err := rediscluster.NewCluster(ctx, testbed.NewCluster(t, testbed.ClusterOptions{Replicas: -1}).Addrs(), rediscluster.Opts{
		HostOpts: redisconn.Opts{IOTimeout: 20 * time.Second, Protocol: 3}, Logger: rediscluster.NoopLogger{},
	})
	require.NoError(t, err)
	defer shared.Close()
	var dials atomic.Int64
	rdb := redis.NewClient(&redis.Options{PoolSize: 1, ReadTimeout: time.Minute, Dialer: func(context.Context, string, string) (net.Conn, error) {
		dials.Add(1)
		return redisvirtual.Conn(shared), nil
	}})
	defer rdb.Close()
	require.NoError(t, rdb.Set(ctx, "a", "0", 0).Err())
	for i := range 100 {
		cmds, err := rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Incr(ctx, "a")
			p.Incr(ctx, "b")
			return nil
		})
		require.ErrorContains(t, err, "CROSSSLOT")
		require.Len(t, cmds, 2)
		require.Equal(t, fmt.Sprint(i), rdb.Echo(ctx, i).Val())
		require.Equal(t, "0", rdb.Get(ctx, "a").Val())
	}
	require.LessOrEqual(t, dials.Load(), int64(2)) // go-redis may dial twice for its first commands
}
