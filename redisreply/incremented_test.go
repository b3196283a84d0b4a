package redisreply_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisreply"
)

// The caller learns whether a bound has prevented the increment.
func TestIncremented(t *testing.T) {
	got, err := redis.As[redisreply.Incremented[int64]]([]any{int64(7), int64(3)})
	require.NoError(t, err)
	value, incremented := got.Value()
	require.Equal(t, int64(7), value)
	require.True(t, incremented)
	require.Equal(t, int64(3), got.Added())

	for _, reply := range [][]any{{[]byte("0.5"), []byte("0")}, {0.5, 0.0}} { // RESP2, RESP3
		refused, err := redis.As[redisreply.Incremented[float64]](reply)
		require.NoError(t, err)
		value, incremented := refused.Value()
		require.Equal(t, 0.5, value)
		require.False(t, incremented)
	}
	for _, reply := range []any{nil, int64(7), []any{int64(7)}, []any{int64(7), int64(1), int64(1)}, []any{"x", int64(1)}} {
		_, err := redis.As[redisreply.Incremented[int64]](reply)
		require.Error(t, err, "%v", reply)
	}
}

// A claimed entry has four elements, and a new one in the same reply may have two. Both can be read as a
// Delivery and as an Entry.
func TestDelivery(t *testing.T) {
	type fields = map[string]string
	claimed := []any{"1-0", []any{"f", "v"}, int64(1500), int64(2)}
	reply := map[string]any{"s": []any{claimed, []any{"2-0", []any{"f", "w"}}}}
	got, err := redis.As[map[string][]redisreply.Delivery[fields]](reply)
	require.NoError(t, err)
	require.Equal(t, []redisreply.Delivery[fields]{
		{ID: "1-0", Value: fields{"f": "v"}, Idle: 1_500_000_000, Deliveries: 2}, {ID: "2-0", Value: fields{"f": "w"}},
	}, got["s"])
	plain, err := redis.As[map[string][]redis.Entry[fields]](reply)
	require.NoError(t, err)
	require.Equal(t, []redis.Entry[fields]{{ID: "1-0", Value: fields{"f": "v"}}, {ID: "2-0", Value: fields{"f": "w"}}}, plain["s"])
}
