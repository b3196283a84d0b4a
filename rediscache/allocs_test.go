//go:build !race

package rediscache

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

// A hit allocates nothing, no matter into which type of variable it is read. The race detector makes pools
// drop objects at random, so the test does not run with it.
func TestHitAllocates(t *testing.T) {
	r := newRig(t, all)
	must(t, r.cache.Do(t.Context(), "SET", "key", "12345"))
	var number int64
	var text string
	var float float64
	room := make([]byte, 0, 100)
	db := redis.SyncCtx{S: r.cache}
	for _, dst := range []any{&number, &text, &float, &room} {
		require.NoError(t, r.cache.DoInto(t.Context(), dst, "GET", "key"))
		assert.Zero(t, testing.AllocsPerRun(100, func() { _ = db.DoInto(t.Context(), dst, "GET", "key") }), "%T", dst)
		assert.Zero(t, testing.AllocsPerRun(100, func() { _ = r.cache.DoInto(t.Context(), dst, "GET", "key") }), "%T", dst)
	}
	assert.Equal(t, []any{int64(12345), "12345", 12345.0, "12345"}, []any{number, text, float, string(room)})
}
