package live

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
)

// statsOf returns the Stats of n requests that took a microsecond each, ten per batch.
func statsOf(n int) redisconn.Stats {
	s := redisconn.Stats{Values: uint64(n), Unknown: 3, Writes: uint64(n / 10), WrittenRequests: uint64(n), InFlight: 7}
	s.Merge(redisconn.Stats{})
	for _, stage := range Stages {
		s.Stage(stage).Add(time.Microsecond, n)
	}
	return s
}

func TestOf(t *testing.T) {
	s := Of(statsOf(1000))
	require.Equal(t, Sample{
		Values: 1000, Unknown: 3, Writes: 100, WrittenRequests: 1000, InFlight: 7,
		Queue: Total{1000, 1e-3}, Wire: Total{1000, 1e-3}, Reading: Total{1000, 1e-3}, Callback: Total{1000, 1e-3},
	}, s)
	require.Equal(t, s, Of(rediscluster.Stats{Total: statsOf(1000), Moved: 3}))
	for _, text := range []string{"{}", "7", "nonsense", `{"Total": {}}`, `{"Writes": "many"}`} {
		_, ok := Parse([]byte(text))
		require.False(t, ok, text)
	}
}

// The metrics are those of package redisprom for two nodes.
func TestParseMetrics(t *testing.T) {
	s, ok := ParseMetrics(`# HELP redispipe_writes_total Batches that were written.
# TYPE redispipe_writes_total counter
redispipe_writes_total{node="127.0.0.1:7000"} 4
redispipe_writes_total{node="127.0.0.1:7001"} 6
redispipe_written_requests_total{node="127.0.0.1:7000"} 1e+03
redispipe_requests_total{node="127.0.0.1:7000",outcome="not_sent"} 2
redispipe_requests_total{node="127.0.0.1:7000",outcome="value"} 5
redispipe_stage_duration_seconds_bucket{node="127.0.0.1:7000",stage="wire",le="5e-05"} 17
redispipe_stage_duration_seconds_sum{node="127.0.0.1:7000",stage="wire"} 0.25
redispipe_stage_duration_seconds_count{node="127.0.0.1:7000",stage="wire"} 5
go_goroutines 8
`)
	require.True(t, ok)
	require.Equal(t, Sample{Values: 5, NotSent: 2, Writes: 10, WrittenRequests: 1000, Wire: Total{5, 0.25}}, s)
	_, ok = ParseMetrics("go_goroutines 8\n")
	require.False(t, ok)
}

// The stages of a sample are in the order of redis.Stage.
func TestStages(t *testing.T) {
	text, err := json.Marshal(statsOf(10))
	require.NoError(t, err)
	for _, stage := range Stages {
		var s Sample
		require.NoError(t, json.Unmarshal(text, &s))
		*s.Stage(stage) = Total{}
		for _, other := range []redis.Stage{redis.StageQueue, redis.StageWire, redis.StageReading, redis.StageCallback} {
			require.Equal(t, other == stage, s.Stage(other).Count == 0)
		}
	}
}
