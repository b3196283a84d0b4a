package virtualpeers

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisvirtual"
	"github.com/joomcode/redispipe/testbed"
)

// sockets records the addresses that were dialed without a virtual connection.
type sockets struct {
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
	mu   sync.Mutex
	to   map[string]bool
}

func (s *sockets) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := s.dial(ctx, network, addr)
	if _, socket := conn.(*net.TCPConn); socket {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.to[addr] = true
	}
	return conn, err
}

// A go-redis client that asks sentinels itself uses the shared connection: first to the old master
// and then to the new one. No write runs twice.
func TestFailover(t *testing.T) {
	group := testbed.NewGroup(t, testbed.GroupOptions{Sentinels: 3})
	ctx := context.Background()
	shared, err := rediscluster.NewSentinel(ctx, group.SentinelAddrs(), group.MasterName(), rediscluster.Opts{
		HostOpts: redisconn.Opts{IOTimeout: 10 * time.Second}, Logger: rediscluster.NoopLogger{},
	})
	require.NoError(t, err)
	defer shared.Close()
	dialed := &sockets{dial: redisvirtual.Dialer(shared), to: map[string]bool{}}
	options := redis.FailoverOptions{
		MasterName: group.MasterName(), SentinelAddrs: group.SentinelAddrs(), Dialer: dialed.DialContext,
		PoolSize: 100, ReadTimeout: time.Minute, MaxRetries: 10,
	}
	rdb := redis.NewFailoverClient(&options)
	defer func() { _ = rdb.Close() }()
	reading := options
	reading.ReplicaOnly = true
	replica := redis.NewFailoverClient(&reading)
	defer func() { _ = replica.Close() }()
	require.Contains(t, replica.Info(ctx, "replication").Val(), "role:slave")

	var stop atomic.Bool
	var all sync.WaitGroup
	var mu sync.Mutex
	acknowledged := map[string]bool{}
	written := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(acknowledged)
	}
	for i := range 8 { // until stop is closed
		all.Go(func() {
			for n := 0; !stop.Load(); n++ {
				id := fmt.Sprint(i, ":", n)
				if rdb.RPush(ctx, "failover", id).Err() == nil {
					mu.Lock()
					acknowledged[id] = true
					mu.Unlock()
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	goesOn := func() {
		before := written()
		require.Eventually(t, func() bool { return written() > before+100 }, time.Minute, time.Millisecond)
	}
	goesOn()
	old, err := group.Master()
	require.NoError(t, err)
	require.NoError(t, old.Kill())
	require.Eventually(t, func() bool {
		master, err := group.Master()
		return err == nil && master != old
	}, time.Minute, 10*time.Millisecond)
	goesOn()
	stop.Store(true)
	all.Wait()

	list, err := rdb.LRange(ctx, "failover", 0, -1).Result()
	require.NoError(t, err)
	slices.Sort(list)
	require.Equal(t, len(list), len(slices.Compact(list)), "no write has run twice")
	master, err := group.Master()
	require.NoError(t, err)
	require.Contains(t, rdb.Info(ctx, "replication").Val(), "role:master")
	dialed.mu.Lock()
	defer dialed.mu.Unlock()
	require.NotEmpty(t, dialed.to)
	for addr := range dialed.to {
		require.Contains(t, group.SentinelAddrs(), addr, "the master is at %s", master.Addr())
	}
}
