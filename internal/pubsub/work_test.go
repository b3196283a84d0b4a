package pubsub

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseWork(t *testing.T) {
	for _, c := range []struct {
		kind string
		rest any
		want Work
		ok   bool
	}{
		{"MOVING", []any{int64(7), int64(15), []byte("other:6379")}, Work{"MOVING", 15 * time.Second, "other:6379"}, true},
		{"MOVING", []any{int64(7), int64(15), nil}, Work{"MOVING", 15 * time.Second, ""}, true},
		{"MOVING", []any{int64(7), int64(15), []byte("h:1\nredispipe: forged")}, Work{"MOVING", 15 * time.Second, ""}, true},
		{"MOVING", []any{int64(7), int64(15), bytes.Repeat([]byte("h"), 1<<20)}, Work{"MOVING", 15 * time.Second, ""}, true},
		{"MIGRATING", []any{int64(7), int64(2), []any{[]byte("1")}}, Work{Kind: "MIGRATING", In: 2 * time.Second}, true},
		{"MIGRATED", []any{int64(7), []any{[]byte("1")}}, Work{Kind: "MIGRATED"}, true},
		{"FAILING_OVER", []any{int64(7), int64(0), []byte("1")}, Work{Kind: "FAILING_OVER"}, true},
		{"FAILED_OVER", int64(7), Work{Kind: "FAILED_OVER"}, true},
		{"SMIGRATED", nil, Work{Kind: "SMIGRATED"}, true},
		{"MIGRATING", []any{int64(7), int64(1 << 62)}, Work{Kind: "MIGRATING"}, true},
		{"MIGRATING", []any{int64(7), int64(-1)}, Work{Kind: "MIGRATING"}, true},
		{"moving", []any{int64(7), int64(15)}, Work{}, false},
		{"invalidate", nil, Work{}, false},
		{"", nil, Work{}, false},
	} {
		got, ok := ParseWork([]byte(c.kind), c.rest)
		require.Equal(t, c.ok, ok, c.kind)
		require.Equal(t, c.want, got)
	}
}

func TestWorkString(t *testing.T) {
	require.Equal(t, "MOVING in 15s to other:6379", Work{"MOVING", 15 * time.Second, "other:6379"}.String())
	require.Equal(t, "FAILED_OVER", Work{Kind: "FAILED_OVER"}.String())
}
