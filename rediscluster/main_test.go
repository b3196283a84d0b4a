package rediscluster

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
	"github.com/joomcode/redispipe/testbed"
)

// parallel is how many tests run at the same time, unless -parallel sets the number. There may be more
// than processors, because the tests mostly wait for servers.
const parallel = "8"

func TestMain(m *testing.M) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", parallel)
	}
	testbed.RequireRedis()
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: nameServers.dial}
	code := m.Run()
	for _, s := range []*sharedTestbed{&shared, &sharedMasters} {
		if s.cluster != nil {
			s.cluster.Close()
		}
	}
	for began := time.Now(); code == 0; time.Sleep(5 * time.Millisecond) {
		left := goroutines("")
		if left == "" {
			break
		}
		if time.Since(began) > patience {
			fmt.Println("goroutines have superseded all tests:\n" + left)
			code = 1
		}
	}
	os.Exit(code)
}

// nameServers is the resolver of all tests. A test can make it silent, or give it names.
var nameServers resolver

type resolver struct {
	asked  atomic.Int64
	silent atomic.Pointer[chan struct{}] // if not nil, the resolver answers nothing until it is closed
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

// sharedTestbed is a cluster that several tests use, one after the other. The first of them starts
// it.
type sharedTestbed struct {
	options testbed.ClusterOptions
	once    sync.Once
	cluster *testbed.Cluster
	err     error
}

var (
	// shared is for tests that change no topology.
	shared sharedTestbed
	// sharedMasters has no replicas. It is for tests that move slots; reset moves the slots back.
	sharedMasters = sharedTestbed{options: testbed.ClusterOptions{Replicas: -1}}
)

// start returns the cluster.
func (s *sharedTestbed) start() (*testbed.Cluster, error) {
	s.once.Do(func() {
		if s.cluster, s.err = testbed.StartCluster(s.options); s.err == nil {
			s.err = holdRoles(s.cluster)
		}
	})
	return s.cluster, s.err
}

// reset returns the cluster, empty, with even shares of the slots.
func (s *sharedTestbed) reset() (*testbed.Cluster, error) {
	c, err := s.start()
	if err != nil {
		return nil, err
	}
	masters, err := c.Masters()
	if err != nil {
		return nil, err
	}
	for _, n := range masters {
		if res := n.Do("FLUSHALL"); res != "OK" {
			return nil, fmt.Errorf("FLUSHALL: %v", res)
		}
	}
	ranges, err := redisclusterutil.ParseSlotsInfo(masters[0].Do("CLUSTER SLOTS"))
	if err != nil {
		return nil, err
	}
	for _, r := range ranges {
		for slot := r.From; slot <= r.To; slot++ {
			// The first slot of master i is i*NumSlots/len(masters), rounded down.
			home := c.Node(((slot+1)*len(masters) - 1) / redisclusterutil.NumSlots)
			if home.Addr() == r.Addrs[0] {
				continue
			}
			if err := c.MoveSlot(slot, home); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

func (s *sharedTestbed) of(t testing.TB) *testbed.Cluster {
	t.Helper()
	c, err := s.reset()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// sharedCluster returns a cluster of three masters with a replica each.
func sharedCluster(t testing.TB) *testbed.Cluster {
	t.Helper()
	return shared.of(t)
}

// holdRoles sets a node time-out so long that no replica takes over within a minute. It must be called
// after the start, because nodes with this time-out take long to meet.
func holdRoles(c *testbed.Cluster) error {
	for _, n := range c.Nodes() {
		if res := n.Do("CONFIG SET", "cluster-node-timeout", time.Minute.Milliseconds()); res != "OK" {
			return fmt.Errorf("CONFIG SET: %v", res)
		}
	}
	return nil
}

// ThreeShards returns a cluster of three masters with a replica each, for examples.
func ThreeShards() (*testbed.Cluster, error) { return shared.reset() }
