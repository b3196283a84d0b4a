package docs_test

import (
	"context"
	"testing"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// The values that the page shows for addresses that do not exist.
var (
	_ = func(ctx context.Context, password, sentinelPassword string) (*rediscluster.Cluster, error) {
		// A master that sentinels watch. The address of one sentinel is enough: it names the others.
		db, err := rediscluster.NewSentinel(ctx, []string{"10.0.0.1:26379"}, "mymaster", rediscluster.Opts{
			HostOpts:     redisconn.Opts{Username: "visits", Password: password},
			SentinelOpts: redisconn.Opts{Password: sentinelPassword},
		})
		return db, err
	}
	_ = func(ctx context.Context, password string) (*rediscluster.Cluster, error) {
		// Endpoints of a managed Redis. The servers report which of them is the master.
		db, err := rediscluster.NewReplicated(ctx, []string{"primary.example:6379", "reader.example:6379"}, rediscluster.Opts{
			HostOpts: redisconn.Opts{Password: password, TLSEnabled: true},
		})
		return db, err
	}
)

// withSentinels connects to the master that sentinels watch.
func withSentinels(ctx context.Context, url string) (*rediscluster.Cluster, error) {
	addrs, master, opts, err := rediscluster.ParseSentinelURL(url)
	if err != nil {
		return nil, err
	}
	return rediscluster.NewSentinel(ctx, addrs, master, opts)
}

func TestSentinel(t *testing.T) {
	t.Parallel()
	group := testbed.NewGroup(t, testbed.GroupOptions{Replicas: -1, Sentinels: 1})
	url := "redis-sentinel://" + group.SentinelAddrs()[0] + "/" + group.MasterName()
	db, err := withSentinels(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if res := (redis.SyncCtx{S: db}).Do(t.Context(), "SET", "key", "value"); res != "OK" {
		t.Error(res)
	}
}
