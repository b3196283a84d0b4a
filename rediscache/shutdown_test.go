package rediscache

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// Shutdown waits for the reads that trackers have accepted. The trackers accept no further reads.
func TestShutdown(t *testing.T) {
	t.Parallel()
	for name, servers := range map[string]func() (redis.Sender, []*testbed.Server){
		"connection": func() (redis.Sender, []*testbed.Server) {
			s := testbed.NewServer(t)
			return connect(t, s.Addr(), redisconn.Opts{}), []*testbed.Server{s}
		},
		"cluster": func() (redis.Sender, []*testbed.Server) {
			bed := testbed.NewCluster(t, testbed.ClusterOptions{Masters: 2, Replicas: -1})
			c, err := rediscluster.NewCluster(context.Background(), bed.Addrs(), rediscluster.Opts{
				HostOpts: redisconn.Opts{IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}}, Logger: rediscluster.NoopLogger{},
			})
			require.NoError(t, err)
			var servers []*testbed.Server
			for _, node := range bed.Nodes() {
				servers = append(servers, node.Server)
			}
			return c, servers
		},
	} {
		s, servers := servers()
		c := cacheOf(t, s, all)
		awaitLeases(t, c)
		must(t, c.Do(t.Context(), "SET", "key", "value"))
		for _, server := range servers {
			require.NoError(t, server.Pause())
		}
		reading := later(t.Context(), c, "GET", "key")
		require.Eventually(t, func() bool { return c.Stats().Misses == 1 }, patient, time.Millisecond)
		ended := make(chan error, 1)
		go func() { ended <- c.Shutdown(context.Background()) }()
		others := 0
		require.Eventually(t, func() bool {
			others++ // a different key each time, because callers that miss the same key share one read
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			err := redis.AsErrorx(c.Do(ctx, "GET", fmt.Sprint("other ", others)))
			return err != nil && err.IsOfType(redis.ErrContextClosed)
		}, patient, time.Millisecond, name)
		require.Empty(t, ended, name)
		for _, server := range servers {
			require.NoError(t, server.Resume())
		}
		require.NoError(t, <-ended, name)
		require.Equal(t, []byte("value"), <-reading, name)
	}
}

// If a read was sent to a tracker and its reply is lost, the outcome of the read is unknown.
func TestUnknownOfATracker(t *testing.T) {
	t.Parallel()
	p := newProxied(t, time.Minute, all)
	held := p.holdReply("key")
	reading := later(t.Context(), p.cache, "GET", "key")
	<-held.First()
	p.proxy.Refuse(true)
	for _, conn := range []int{1, tracked} {
		p.proxy.Arm(chaos.Fault{Do: chaos.Reset, On: chaos.Requests, At: chaos.Now(), Conn: conn})
		if conn == 1 {
			require.Eventually(t, func() bool { return !p.cache.plain.to.(*redisconn.Connection).ConnectedNow() }, patient, time.Millisecond)
		}
	}
	err := redis.AsErrorx(<-reading)
	require.Equal(t, redis.OutcomeUnknown, redis.OutcomeOf(err), "%v", err)
}
