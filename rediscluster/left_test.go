package rediscluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/topology"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// TestLinkIsClosedWhenIdle: a connection to a node that has left the cluster still gets its replies, and
// refuses new requests, both of the cluster and of users that have kept the connection. Those users may
// use another connection while the cluster is open.
func TestLinkIsClosedWhenIdle(t *testing.T) {
	play, release := holding("+OK\r\n")
	old := newScriptedNode(t, play)
	next := newScriptedNode(t, chaos.ScriptedReplies("+OK\r\n"))
	c, _ := connect(t, []string{old.Addr()}, Opts{
		HostOpts: redisconn.Opts{IOTimeout: time.Minute}, ConnsPerHost: 1, CheckInterval: time.Minute,
	})
	var conn *redisconn.Connection
	c.EachShard(func(s redis.Sender, _ error) bool {
		conn = s.(*redisconn.Connection)
		return true
	})
	result := make(chan any, 1)
	conn.Send(redis.Req("GET", "key"), redis.FuncFuture(func(res any, _ uint64) { result <- res }), 0)
	require.True(t, c.refresher.publish(t.Context(), &topology.Layout{Shards: []topology.Shard{{Master: next.Addr()}}}))
	await(t, "end of requests", func() bool {
		refused := make(chan bool, 1)
		conn.Send(redis.Req("GET", "key"), redis.FuncFuture(func(res any, _ uint64) {
			refused <- redis.SafeToRetry(redis.AsError(res))
		}), 0)
		select {
		case r := <-refused:
			return r
		default:
			return false
		}
	})
	require.NoError(t, conn.Ctx().Err(), "closed, with a request on the way")
	close(release)
	require.Equal(t, "OK", <-result)
	<-conn.Ctx().Done()
	isType(t, redisconn.ErrNotConnected, redis.Sync{S: conn}.Do("GET", "key"))
	await(t, "nothing retired", func() bool { return len(c.refresher.links()) == 1 })
	c.Close()
	isType(t, redis.ErrContextClosed, redis.Sync{S: conn}.Do("GET", "key"))
}
