package rediscluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/joomcode/redispipe/testbed"
)

func TestMain(m *testing.M) {
	testbed.RequireRedis()
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: nameServers.dial}
	code := m.Run()
	if shared.cluster != nil {
		shared.cluster.Close()
	}
	os.Exit(code)
}

// nameServers are asked for names; they may be silent, or know some themselves.
var nameServers resolver

type resolver struct {
	asked  atomic.Int64
	silent atomic.Pointer[chan struct{}] // until it is closed
	names  atomic.Pointer[NameTable]
}

func (r *resolver) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	r.asked.Add(1)
	if silence := r.silent.Load(); silence != nil {
		<-*silence
	}
	if names := r.names.Load(); names != nil {
		client, server := net.Pipe()
		go names.serve(server) // ends with the client
		return client, nil
	}
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}

// shared is a cluster for tests that leave it as they found it.
var shared struct {
	sync.Once
	cluster *testbed.Cluster
	err     error
}

// holdRoles has no replica take over within a minute. Nodes that wait so long for each other
// from the beginning take long to meet.
func holdRoles(c *testbed.Cluster) error {
	for _, n := range c.Nodes() {
		if res := n.Do("CONFIG SET", "cluster-node-timeout", time.Minute.Milliseconds()); res != "OK" {
			return fmt.Errorf("CONFIG SET: %v", res)
		}
	}
	return nil
}

// sharedCluster returns it, empty.
func sharedCluster(t testing.TB) *testbed.Cluster {
	t.Helper()
	shared.Do(func() {
		if shared.cluster, shared.err = testbed.StartCluster(testbed.ClusterOptions{}); shared.err == nil {
			shared.err = holdRoles(shared.cluster)
		}
	})
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
