package redisprom

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// names returns the names of all metrics, and checks that they follow the conventions of Prometheus.
func names(t *testing.T, collectors ...prometheus.Collector) map[string]bool {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	for _, c := range collectors {
		require.NoError(t, registry.Register(c))
	}
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	require.Empty(t, problems)
	families, err := registry.Gather()
	require.NoError(t, err)
	found := make(map[string]bool)
	for _, f := range families {
		found[f.GetName()] = true
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				require.Contains(t, []string{"command", "node", "outcome", "stage", "kind", "state", "reason"}, l.GetName())
			}
		}
	}
	return found
}

func TestConnection(t *testing.T) {
	s := testbed.NewServer(t)
	conn, err := redisconn.Connect(context.Background(), s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	require.NoError(t, err)
	defer conn.Close()
	hook := NewHook(nil)
	sync := redis.Sync{S: redis.WithHook(conn, hook)}
	sync.Do("SET", "key", "value")
	sync.Do("GET", "key")
	sync.Do("INCR", "key")
	sync.SendMany([]redis.Request{redis.Req("GET", "key"), redis.Req("SET", "key", 1)})
	require.NoError(t, testutil.CollectAndCompare(hook, strings.NewReader(strings.ReplaceAll(`
# HELP redispipe_operation_requests_total Requests of operations that have ended.
# TYPE redispipe_operation_requests_total counter
redispipe_operation_requests_total{command="get",node="NODE",outcome="value"} 1
redispipe_operation_requests_total{command="incr",node="NODE",outcome="refused"} 1
redispipe_operation_requests_total{command="set",node="NODE",outcome="value"} 1
redispipe_operation_requests_total{command="several",node="NODE",outcome="value"} 2
`, "NODE", s.Addr())), "redispipe_operation_requests_total"))
	require.Equal(t, 4, testutil.CollectAndCount(hook, "redispipe_operation_duration_seconds"))

	collector := NewCollector(conn)
	require.NoError(t, testutil.CollectAndCompare(collector, strings.NewReader(strings.ReplaceAll(`
# HELP redispipe_requests_total Requests by outcome, as connections saw them.
# TYPE redispipe_requests_total counter
redispipe_requests_total{node="NODE",outcome="not_sent"} 0
redispipe_requests_total{node="NODE",outcome="refused"} 1
redispipe_requests_total{node="NODE",outcome="unknown"} 0
redispipe_requests_total{node="NODE",outcome="value"} 4
`, "NODE", s.Addr())), "redispipe_requests_total"))
	require.Nil(t, redis.Sync{S: conn}.Do("BLPOP", "list", 0.01))
	require.NoError(t, testutil.CollectAndCompare(collector, strings.NewReader(strings.ReplaceAll(`
# HELP redispipe_dedicated_connections Dedicated connections: those for blocking commands and sessions.
# TYPE redispipe_dedicated_connections gauge
redispipe_dedicated_connections{node="NODE"} 1
# HELP redispipe_dedicated_requests_total Blocking commands and requests of sessions by outcome.
# TYPE redispipe_dedicated_requests_total counter
redispipe_dedicated_requests_total{node="NODE",outcome="not_sent"} 0
redispipe_dedicated_requests_total{node="NODE",outcome="refused"} 0
redispipe_dedicated_requests_total{node="NODE",outcome="unknown"} 0
redispipe_dedicated_requests_total{node="NODE",outcome="value"} 1
`, "NODE", s.Addr())), "redispipe_dedicated_connections", "redispipe_dedicated_requests_total"))
	require.Equal(t, 4, testutil.CollectAndCount(collector, "redispipe_stage_duration_seconds"))
	require.Equal(t, map[string]uint64{"redispipe_connect_duration_seconds": 2, "redispipe_dedicated_wait_seconds": 1}, sampled(t, collector))
	names(t, hook, collector)
}

// sampled returns how many durations the histograms of connections count.
func sampled(t *testing.T, c prometheus.Collector) map[string]uint64 {
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(c))
	families, err := registry.Gather()
	require.NoError(t, err)
	counts := map[string]uint64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if h := m.GetHistogram(); h != nil && len(m.GetLabel()) == 1 {
				counts[f.GetName()] += h.GetSampleCount()
			}
		}
	}
	return counts
}

// A Client of any topology has the same metrics as a cluster.
func TestClient(t *testing.T) {
	s := testbed.NewServer(t)
	hook := NewHook(nil)
	c, err := redispipe.Open(t.Context(), "redis://"+s.Addr(), redispipe.Hooks(hook), redispipe.Logger(nil))
	require.NoError(t, err)
	defer c.Close()
	c.Do(t.Context(), "SET", "key", "value")
	require.Equal(t, 1, testutil.CollectAndCount(hook, "redispipe_operation_duration_seconds"))
	require.NoError(t, testutil.CollectAndCompare(NewClientCollector(c), strings.NewReader(strings.ReplaceAll(`
# HELP redispipe_requests_total Requests by outcome, as connections saw them.
# TYPE redispipe_requests_total counter
redispipe_requests_total{node="NODE",outcome="not_sent"} 0
redispipe_requests_total{node="NODE",outcome="refused"} 0
redispipe_requests_total{node="NODE",outcome="unknown"} 0
redispipe_requests_total{node="NODE",outcome="value"} 1
`, "NODE", s.Addr())), "redispipe_requests_total"))
}

// Labels have a limited number of values, no matter which commands are sent, and to which nodes.
func TestLabelsAreBounded(t *testing.T) {
	hook := NewHook([]float64{1})
	for i := range 10 * nodesMost {
		hook.After(context.Background(), redis.Operation{Command: "GET", Requests: 1}, redis.Completion{Address: fmt.Sprint(i), Duration: time.Second})
	}
	require.Equal(t, nodesMost+1, testutil.CollectAndCount(hook, "redispipe_operation_requests_total"))
}

var metricName = regexp.MustCompile(`redispipe_[a-z_]+`)

// The path of a unix socket may contain bytes that a label must not contain.
func TestAddressThatIsNoUTF8(t *testing.T) {
	conn, err := redisconn.Connect(context.Background(), "/\xff/redis.sock", redisconn.Opts{Logger: redisconn.NoopLogger{}, AsyncDial: true})
	require.NoError(t, err)
	defer conn.Close()
	hook := NewHook(nil)
	op := redis.Operation{Command: "GET", Requests: 1}
	hook.After(t.Context(), op, redis.Completion{Address: conn.Addr()})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(hook, NewCollector(conn))
	families, err := registry.Gather()
	require.NoError(t, err)
	require.NotEmpty(t, families)
	require.Contains(t, families[0].String(), "/\uFFFD/redis.sock")
}

func TestDashboardAndAlerts(t *testing.T) {
	tb := testbed.NewCluster(t, testbed.ClusterOptions{Replicas: -1})
	cluster, err := rediscluster.NewCluster(context.Background(), tb.Addrs(), rediscluster.Opts{Logger: rediscluster.NoopLogger{}})
	require.NoError(t, err)
	defer cluster.Close()
	hook := NewHook(nil)
	redis.Sync{S: redis.WithHook(cluster, hook)}.Do("SET", "key", "value")
	_, _, subscriber := newSubscriber(t)
	known := names(t, hook, NewClusterCollector(cluster), NewSubscriberCollector(subscriber))
	for _, file := range []string{"dashboard.json", "alerts.yml", "../../docs/operating.md", "../../internal/live/sample.go"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		used := metricName.FindAllString(string(text), -1)
		require.Greater(t, len(used), 5, file)
		for _, name := range used {
			base := name
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				if cut, ok := strings.CutSuffix(name, suffix); ok && known[cut] {
					base = cut
				}
			}
			require.True(t, known[base], "%s: there is no metric %s", file, name)
		}
	}
	dashboard, err := os.ReadFile("dashboard.json")
	require.NoError(t, err)
	require.True(t, json.Valid(dashboard))
}

func TestSeveralClients(t *testing.T) {
	one, other := NewCollector(), NewCollector()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, prometheus.WrapRegistererWith(prometheus.Labels{"client": "one"}, registry).Register(one))
	require.NoError(t, prometheus.WrapRegistererWith(prometheus.Labels{"client": "other"}, registry).Register(other))
	registry = prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(one))
	require.Error(t, registry.Register(other))
}

func TestBucketsInAnyOrder(t *testing.T) {
	hook := NewHook([]float64{2, 1, 2, math.Inf(1)})
	hook.After(t.Context(), redis.Operation{Command: "GET", Requests: 1}, redis.Completion{Duration: time.Second})
	require.Equal(t, 1, testutil.CollectAndCount(hook, "redispipe_operation_duration_seconds"))
}

func TestCollectorsOfNil(t *testing.T) {
	for _, c := range []struct {
		text string
		make func()
	}{
		{"redisprom: a nil *redisconn.Connection", func() { NewCollector(nil) }},
		{"redisprom: a nil *rediscluster.Cluster", func() { NewClusterCollector(nil) }},
		{"redisprom: a nil *redispipe.Client", func() { NewClientCollector(nil) }},
		{"redisprom: a nil *rediscache.Cache", func() { NewCacheCollector(nil) }},
		{"redisprom: a nil *redispubsub.Subscriber", func() { NewSubscriberCollector(nil) }},
	} {
		require.PanicsWithValue(t, c.text, c.make)
	}
}
