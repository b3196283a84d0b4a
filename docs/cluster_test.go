package docs_test

import (
	"context"
	"testing"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/testbed"
)

func clusterOf(ctx context.Context, addrs []string) error {
	cluster, err := rediscluster.NewCluster(ctx, addrs, rediscluster.Opts{})
	if err != nil {
		return err
	}
	defer cluster.Close()
	db := redis.SyncCtx{S: cluster}
	if err := redis.Err(db.Do(ctx, "SET", "key", "value")); err != nil {
		return err
	}

	// SendSplit takes MGET, MSET, DEL, UNLINK, EXISTS and TOUCH.
	res := rediscluster.SendSplit(ctx, cluster, redis.Req("MGET", "key", "other"))
	if err := redis.Err(res); err != nil {
		return err
	}

	// On every master.
	for _, res := range rediscluster.DoEachShard(ctx, cluster, redis.Req("DBSIZE")) {
		if err := redis.Err(res); err != nil {
			return err
		}
	}
	return readByPolicies(ctx, cluster)
}

// readByPolicies shows each policy at its work.
func readByPolicies(ctx context.Context, cluster *rediscluster.Cluster) error {
	strict := redis.SyncCtx{S: cluster} // MasterOnly
	even := redis.SyncCtx{S: cluster.WithPolicy(rediscluster.MasterAndSlaves)}
	feeds := redis.SyncCtx{S: cluster.WithPolicy(rediscluster.PreferSlaves)}
	scripts := redis.SyncCtx{S: cluster.WithPolicy(rediscluster.ForceMasterAndSlaves)}
	reports := redis.SyncCtx{S: cluster.WithPolicy(rediscluster.ForcePreferSlaves)}

	for _, db := range []redis.SyncCtx{strict, even, feeds} {
		if err := redis.Err(db.Do(ctx, "EXISTS", "key")); err != nil {
			return err
		}
	}
	for _, db := range []redis.SyncCtx{scripts, reports} {
		res := db.Do(ctx, "EVAL", "return redis.call('EXISTS', KEYS[1])", 1, "key")
		if err := redis.Err(res); err != nil {
			return err
		}
	}
	return nil
}

func TestCluster(t *testing.T) {
	t.Parallel()
	tb := testbed.NewCluster(t)
	if err := clusterOf(t.Context(), tb.Addrs()); err != nil {
		t.Fatal(err)
	}
}
