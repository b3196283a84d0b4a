package redisclusterutil

import (
	"testing"

	"github.com/joomcode/redispipe/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseShardsInfo(t *testing.T) {
	master := []any{"id", "m1", "port", int64(7000), "tls-port", int64(8000), "ip", "10.0.0.1", "endpoint", "10.0.0.1",
		"hostname", "a.example", "role", "master", "replication-offset", int64(72156), "health", "online", "availability-zone", "zone-a"}
	replica := map[string]any{"id": []byte("r1"), "tls-port": int64(8001), "ip": []byte("::1"), "endpoint": nil,
		"role": []byte("replica"), "replication-offset": int64(0), "health": []byte("loading"), "later": []any{}}
	unknown := []any{"id", "r2", "port", int64(7002), "ip", "10.0.0.3", "endpoint", "?", "role", "replica"}
	in := []any{
		[]any{"slots", []any{int64(0), int64(5), int64(7), int64(7)}, "nodes", []any{master, replica, unknown}},
		map[string]any{"slots": []any{}, "nodes": []any{}},
	}
	wantMaster := ShardNode{ID: "m1", Addr: "10.0.0.1:7000", IP: "10.0.0.1", Hostname: "a.example",
		Port: 7000, TLSPort: 8000, Master: true, ReplicationOffset: 72156, Health: "online", Zone: "zone-a"}
	want := []ShardInfo{
		{
			Slots: [][2]uint16{{0, 5}, {7, 7}},
			Nodes: []ShardNode{
				wantMaster,
				{ID: "r1", Addr: ":8001", IP: "::1", TLSPort: 8001, Health: "loading"},
				{ID: "r2", Addr: "10.0.0.3:7002", IP: "10.0.0.3", Port: 7002},
			},
		},
		{},
	}
	got, err := ParseShardsInfo(in, false)
	require.NoError(t, err)
	assert.Equal(t, want, got)

	got, err = ParseShardsInfo(in, true)
	require.NoError(t, err)
	assert.Equal(t, "10.0.0.1:8000", got[0].Nodes[0].Addr)
}

func TestParseShardsInfoMalformed(t *testing.T) {
	for name, in := range map[string]any{
		"nil":        nil,
		"row":        []any{"x"},
		"odd":        []any{[]any{"slots"}},
		"slots type": []any{[]any{"slots", "x"}},
		"slots odd":  []any{[]any{"slots", []any{int64(1)}}},
		"slots out":  []any{[]any{"slots", []any{int64(1), int64(NumSlots)}}},
		"nodes type": []any{[]any{"nodes", int64(1)}},
		"node type":  []any{[]any{"nodes", []any{int64(1)}}},
		"port":       []any{[]any{"nodes", []any{[]any{"port", int64(-1)}}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseShardsInfo(in, false)
			require.Error(t, err)
			assert.True(t, redis.AsErrorx(err).IsOfType(redis.ErrResponseUnexpected))
		})
	}
}
