package torture

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

const (
	rotateEvery = 100 * time.Millisecond
	// rotateDelay is the time from when the connections have confirmed a new password until the old
	// one is deleted.
	rotateDelay = time.Second
)

// rotation changes the password of the user "rotated" on all servers.
type rotation struct {
	servers []*testbed.Server
	current atomic.Pointer[string]
	old     []oldPassword
	changes int
}

type oldPassword struct {
	password string
	until    time.Time
}

func (r *rotation) credentials(context.Context) (redisconn.Credentials, error) {
	return redisconn.Credentials{Username: "rotated", Password: *r.current.Load()}, nil
}

// rule applies rules to the user on all servers.
func (r *rotation) rule(t *testing.T, rules ...any) {
	t.Helper()
	for _, s := range r.servers {
		require.Equal(t, "OK", s.Do("ACL SETUSER", append([]any{"rotated"}, rules...)...))
	}
}

// next sets another password as the current one, and deletes old ones.
func (r *rotation) next(t *testing.T) {
	t.Helper()
	r.changes++
	password := fmt.Sprintf("%s-%d", canaryPassword, r.changes)
	r.rule(t, ">"+password)
	if last := r.current.Swap(&password); last != nil {
		r.old = append(r.old, oldPassword{*last, time.Now().Add(rotateDelay)})
	}
	for len(r.old) > 0 && time.Now().After(r.old[0].until) {
		r.rule(t, "<"+r.old[0].password)
		r.old = r.old[1:]
	}
}

// T28: the password changes every 100 ms under load, and the old one is deleted a second later: no
// request fails, no connection is lost, and the heap does not grow. ROTATE, such as 10m, sets the
// duration.
func TestT28RotatedCredentials(t *testing.T) {
	drill.Rotate(t)
	beside(t)
	t.Run("connection", func(t *testing.T) {
		beside(t)
		r := &rotation{servers: []*testbed.Server{testbed.NewServer(t)}}
		begin(t, r)
		events := NewEvents()
		conn, err := redisconn.Connect(context.Background(), r.servers[0].Addr(), redisconn.Opts{
			CredentialsProvider: r.credentials, Logger: events, IOTimeout: 3 * patience,
		})
		require.NoError(t, err)
		defer conn.Close()
		rotate(t, r, conn, conn.Reauthenticate)
		require.Equal(t, 1, events.Count("LogConnected"))
		require.Zero(t, events.Count("LogDisconnected")+events.Count("LogAuthFailed"))
	})
	t.Run("cluster", func(t *testing.T) {
		beside(t)
		r := &rotation{}
		nodes := testbed.NewCluster(t, testbed.ClusterOptions{Replicas: -1, NodeTimeout: longNodeTimeout})
		for _, n := range nodes.Nodes() {
			r.servers = append(r.servers, n.Server)
		}
		begin(t, r)
		events := NewEvents()
		cluster, err := rediscluster.NewCluster(context.Background(), nodes.Addrs(), rediscluster.Opts{
			HostOpts: redisconn.Opts{CredentialsProvider: r.credentials, Logger: events, IOTimeout: 3 * patience},
			Logger:   rediscluster.NoopLogger{},
		})
		require.NoError(t, err)
		defer cluster.Close()
		rotate(t, r, cluster, cluster.Reauthenticate)
		require.Zero(t, events.Count("LogDisconnected")+events.Count("LogAuthFailed"))
	})
}

func begin(t *testing.T, r *rotation) {
	t.Helper()
	r.rule(t, "on", "~*", "&*", "+@all")
	r.next(t)
}

// rotate changes the password while requests and transactions continue.
func rotate(t *testing.T, r *rotation, sender redis.Sender, reauthenticate func(context.Context) error) {
	t.Helper()
	d := time.Duration(long(3, 1)) * time.Second
	if given, err := time.ParseDuration(os.Getenv("ROTATE")); err == nil {
		d = given
	}
	var sent atomic.Int64
	var wg sync.WaitGroup
	load, stop := context.WithCancel(context.Background())
	defer stop()
	for g := range 32 {
		wg.Go(func() {
			client := redis.Sync{S: sender}
			key := fmt.Sprintf("{%d}", g)
			for i := 0; load.Err() == nil; i++ {
				if err := redis.AsError(client.Do("SET", key, i)); err != nil {
					t.Error(err)
					return
				}
				got, err := client.SendTransaction([]redis.Request{redis.Req("GET", key), redis.Req("INCR", key+"n")})
				if err != nil || string(got[0].([]byte)) != fmt.Sprint(i) || got[1] != int64(i+1) {
					t.Errorf("transaction %d: %v, %v", i, got, err)
					return
				}
				sent.Add(5)
				time.Sleep(time.Millisecond) // limits the rate, which does not matter here
			}
		})
	}
	samples := oracle.WatchResources(d/20, true)
	began := time.Now()
	deleted := func() bool { return len(r.old) < r.changes-1 }
	for tick := time.NewTicker(rotateEvery); time.Since(began) < d || !deleted(); <-tick.C {
		r.next(t)
		require.NoError(t, reauthenticate(context.Background()))
	}
	rate := float64(sent.Load()) / time.Since(began).Seconds()
	stop()
	wg.Wait()
	taken := samples.Stop()
	middle, last := taken[len(taken)/2], taken[len(taken)-1]
	t.Logf("%d passwords in %v; %.0f requests/s; heap %d KiB at half time, %d KiB at the end; %d goroutines",
		r.changes, d, rate, middle.HeapInuse>>10, last.HeapInuse>>10, last.Goroutines)
	require.Positive(t, sent.Load())
	if drill.InFull { // otherwise other tests allocate at the same time
		require.Less(t, last.HeapInuse, middle.HeapInuse+8<<20)
	}
}
