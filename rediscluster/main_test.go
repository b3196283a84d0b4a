package rediscluster

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/joomcode/redispipe/testbed"
)

func TestMain(m *testing.M) {
	testbed.RequireRedis()
	code := m.Run()
	if shared.cluster != nil {
		shared.cluster.Close()
	}
	os.Exit(code)
}

// shared is a cluster for tests that leave it as they found it.
var shared struct {
	sync.Once
	cluster *testbed.Cluster
	err     error
}

// sharedCluster returns it, empty.
func sharedCluster(t testing.TB) *testbed.Cluster {
	t.Helper()
	shared.Do(func() { shared.cluster, shared.err = testbed.StartCluster(testbed.ClusterOptions{}) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	masters, err := shared.cluster.Masters()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range masters {
		if res := n.Do("FLUSHALL"); res != "OK" {
			t.Fatal(fmt.Errorf("FLUSHALL: %v", res))
		}
	}
	return shared.cluster
}
