package torture

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// T27: if a new master is killed before another server replicates from it, only the writes that it
// has acknowledged are lost. The client wrote there because the sentinels had named that master.
func TestT27KilledBeforeItIsFollowed(t *testing.T) {
	drill.Rotate(t)
	beside(t)
	group := testbed.NewGroup(t, testbed.GroupOptions{Options: testbed.Options{Persist: true}, Sentinels: 3, DownAfter: nodeTimeout})
	r, err := NewSentinelRig(t.Name(), seed, group, rediscluster.Opts{HostOpts: redisconn.Opts{IOTimeout: nodeLost}})
	t.Cleanup(func() {
		r.Close()
		passes(t, r.Ledger.Report)
	})
	require.NoError(t, err)
	client := redis.SyncCtx{S: r.Client}
	first, last := group.Servers()[0], group.Servers()[2]
	const some = 1000
	acknowledged := func() (ids []string) { // waits for a master and pushes that number of new IDs
		ctx := runFor(t, 3*patience)
		for n := 0; len(ids) < some; n++ {
			id := fmt.Sprint(time.Now().UnixNano(), "-", n)
			if redis.AsError(client.Do(ctx, "RPUSH", "log", id)) == nil {
				ids = append(ids, id)
			}
			require.NoError(t, ctx.Err())
		}
		return ids
	}
	log := func(s *testbed.Server) map[string]bool {
		list, err := redis.As[[]string](s.Do("LRANGE", "log", 0, -1))
		require.NoError(t, err)
		set := make(map[string]bool, len(list))
		for _, id := range list {
			set[id] = true
		}
		return set
	}
	holds := func(has map[string]bool, ids []string) (n int) {
		for _, id := range ids {
			if has[id] {
				n++
			}
		}
		return n
	}

	before := acknowledged()
	require.NoError(t, group.WaitReplicas(first))
	require.NoError(t, last.Pause())
	require.Eventually(t, func() bool { return heldForDead(group, last) }, 3*patience, 10*time.Millisecond)
	require.NoError(t, first.Kill())
	second, err := group.WaitPromoted(first)
	require.NoError(t, err)
	after := acknowledged()
	has := log(second)
	require.Equal(t, some, holds(has, before))
	require.Equal(t, some, holds(has, after), "written to the master that the sentinels named")

	require.NoError(t, second.Kill())
	require.NoError(t, last.Resume())
	third, err := group.WaitPromoted(second)
	require.NoError(t, err)
	require.Equal(t, last.Addr(), third.Addr())
	end := acknowledged()
	has = log(third)
	require.Equal(t, some, holds(has, before))
	require.Zero(t, holds(has, after), "the servers have lost it")
	require.Equal(t, some, holds(has, end))
}

// heldForDead reports whether all sentinels of a group consider a replica dead.
func heldForDead(group *testbed.Group, replica *testbed.Server) bool {
	for _, s := range group.Sentinels() {
		replicas, err := redis.As[[]map[string]string](s.Do("SENTINEL REPLICAS", group.MasterName()))
		if err != nil {
			return false
		}
		for _, one := range replicas {
			if one["ip"]+":"+one["port"] == replica.Addr() && !strings.Contains(one["flags"], "s_down") {
				return false
			}
		}
	}
	return true
}
