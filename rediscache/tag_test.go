package rediscache

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Whatever number of requests of a key is kept, each is found, leaves alone, and goes with the key.
func TestRequestsOfOneKey(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, few, few + 1, 1000} {
		r := newReads(1 << 20)
		entries := make([]*entry, n)
		for i := range entries {
			entries[i], _ = r.begin(fmt.Sprint("HGET:", i), "key")
			_, how := r.begin(fmt.Sprint("HGET:", i), "key")
			require.Equal(t, waits, how)
			require.Len(t, r.fill(entries[i], fmt.Sprint(i)), 2)
		}
		for i := range entries {
			e := r.find(fmt.Appendf(nil, "HGET:%d", i), hashOf("key"), time.Hour, time.Hour)
			require.Same(t, entries[i], e)
			require.Equal(t, fmt.Sprint(i), e.value.text)
		}
		require.False(t, r.has("HGET:", "key"))
		r.drop(entries[0], byUser)
		require.False(t, r.has("HGET:0", "key"))
		require.Equal(t, n > 1, r.has("HGET:"+fmt.Sprint(n-1), "key"))
		r.changed(hashOf("key"), byWrite)
		require.False(t, r.has("HGET:"+fmt.Sprint(n-1), "key"))
		r.isEmpty(t)
		assert.EqualValues(t, n-1, r.dropped[byWrite].Load())
	}
}

// A read that takes the place of an older one of the same request is found, and the older one is
// not filled.
func TestReadTakesPlace(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, few - 1, few + 1} {
		r := newReads(1 << 20)
		for i := range n {
			r.begin(fmt.Sprint("HGET:", i), "key")
		}
		before, _ := r.begin("HGET", "key")
		r.lease = new(lease) // another one
		r.lease.renew(1 << 62)
		after, how := r.begin("HGET", "key")
		require.Equal(t, asks, how)
		require.NotSame(t, before, after)
		r.fill(before, "before")
		require.False(t, r.has("HGET", "key"))
		r.fill(after, "after")
		require.Same(t, after, r.find([]byte("HGET"), hashOf("key"), time.Hour, time.Hour))
		require.Equal(t, "after", after.value.text)
	}
}
