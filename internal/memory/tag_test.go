package memory

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Whatever number of requests of a key is kept, each is found, leaves alone, and goes with the key.
func TestRequestsOfOneKey(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, few, few + 1, 1000} {
		r := newReads(1 << 20)
		reads := make([]*Read, n)
		for i := range reads {
			reads[i], _ = r.begin(fmt.Sprint("HGET:", i), "key")
			_, how := r.begin(fmt.Sprint("HGET:", i), "key")
			require.Equal(t, Waits, how)
			require.Len(t, r.fill(reads[i], fmt.Sprint(i)), 2)
		}
		for i := range reads {
			text, ok := r.text(fmt.Sprint("HGET:", i), "key")
			require.True(t, ok)
			require.Equal(t, fmt.Sprint(i), text)
		}
		require.False(t, r.has("HGET:", "key"))
		r.drop(r.shard(HashOf("key")).tags[HashOf("key")].find([]byte("HGET:0")), ByUser)
		require.False(t, r.has("HGET:0", "key"))
		require.Equal(t, n > 1, r.has("HGET:"+fmt.Sprint(n-1), "key"))
		r.Changed(HashOf("key"), ByWrite)
		require.False(t, r.has("HGET:"+fmt.Sprint(n-1), "key"))
		r.isEmpty(t)
		assert.EqualValues(t, n-1, r.dropped[ByWrite].Load())
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
		r.lease = new(Lease) // another one
		r.lease.Renew(1 << 62)
		after, how := r.begin("HGET", "key")
		require.Equal(t, Asks, how)
		require.NotSame(t, before, after)
		r.fill(before, "before")
		require.False(t, r.has("HGET", "key"))
		r.fill(after, "after")
		text, ok := r.text("HGET", "key")
		require.True(t, ok)
		require.Equal(t, "after", text)
	}
}
