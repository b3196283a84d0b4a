package memory

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// For any number of kept requests of a key, each is found, can be removed alone, and is removed
// with the key.
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

// If a read replaces an older read of the same request, the store finds the new one, and does not fill the
// older one.
func TestReadTakesPlace(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, few - 1, few + 1} {
		r := newReads(1 << 20)
		for i := range n {
			r.begin(fmt.Sprint("HGET:", i), "key")
		}
		before, _ := r.begin("HGET", "key")
		r.lease = new(Lease) // another lease, so that the next read does not join this one
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

// For any number of requests that share a key that is not their first, each can be removed alone, in
// any order, and all are removed with the key.
func TestRequestsThatShareAKey(t *testing.T) {
	t.Parallel()
	const n = 1000
	r := newReads(1 << 20)
	for i := range n {
		key := fmt.Sprint("key:", i)
		q, _ := r.begin("MGET "+key, key, "shared", "other", "shared")
		r.fill(q, "x")
	}
	left := n
	for _, i := range rand.Perm(n)[:n/2] {
		r.Changed(HashOf(fmt.Sprint("key:", i)), ByWrite)
		left--
		require.EqualValues(t, left, r.Counts().Entries)
		of := 0
		for h := r.shard(HashOf("shared")).tags[HashOf("shared")].others; h != nil; h = h.behind {
			of++
		}
		require.Equal(t, 2*left, of)
	}
	r.Changed(HashOf("shared"), ByServer)
	assert.EqualValues(t, left, r.dropped[ByServer].Load())
	r.isEmpty(t)
}

// BenchmarkSharedKey changes a key that many requests share. Each request has two more keys of its own.
func BenchmarkSharedKey(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := newReads(256 << 20)
			for b.Loop() {
				for i := range n {
					key := fmt.Sprint("key:", i)
					q, _ := r.begin("MGET "+key, key, "shared", "other")
					r.fill(q, "x")
				}
				r.Changed(HashOf("shared"), ByServer)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*b.N), "ns/entry")
		})
	}
}
