package rediscluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// If a large batch loses its connection and the client sends the unwritten requests again, they keep their
// order.
func TestLargeBatchKeepsItsOrder(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	nodes := testbed.NewCluster(t, testbed.ClusterOptions{Masters: 1, Replicas: -1})
	node := nodes.Node(0)
	proxy := chaos.NewProxy(t, node.Addr(), chaos.ProxyOpts{})
	var d Detours
	d.Lead(node.Addr(), proxy.Addr())
	c, _ := connect(t, nodes.Addrs(), Opts{HostOpts: redisconn.Opts{Dialer: d.Dial, ReconnectPause: time.Millisecond}})
	for _, again := range []bool{false, true} {
		var db redis.Sender = c
		if again {
			db = redis.WithRetry(c, redis.RetryOpts{})
		}
		require.NoError(t, redis.AsError(redis.Sync{S: db}.Do("DEL", "list")))
		proxy.Arm(chaos.Fault{Do: chaos.Cut, On: chaos.Replies, At: chaos.AtByte(10_000)})
		reqs := make([]redis.Request, 10_000)
		for i := range reqs {
			reqs[i] = redis.Req("RPUSH", "list", i)
		}
		outcomes := map[redis.Outcome]int{}
		for _, res := range (redis.SyncCtx{S: db}).SendMany(t.Context(), reqs) {
			outcomes[redis.OutcomeOf(res)]++
		}
		proxy.Heal()
		t.Log(outcomes) // on a slow network, all requests may have been written before the cut
		list, err := redis.As[[]int](redis.Sync{S: db}.Do("LRANGE", "list", 0, -1))
		require.NoError(t, err)
		require.IsIncreasing(t, list)
		require.GreaterOrEqual(t, len(list), outcomes[redis.OutcomeValue])
		require.LessOrEqual(t, len(list), outcomes[redis.OutcomeValue]+outcomes[redis.OutcomeUnknown])
	}
}
