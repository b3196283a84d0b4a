package memory

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The table remembers a request from the first time on, until many other requests were added.
func TestAsked(t *testing.T) {
	t.Parallel()
	const bytes = 64 << 10
	a := newAsked(bytes)
	require.EqualValues(t, bytes, a.bytes())
	require.Less(t, newAsked(bytes-1).bytes(), int64(bytes))
	random := rand.New(rand.NewPCG(1, 2))
	requests := make([]uint64, bytes/4/4) // enough for a quarter of the places
	known := func() (n int) {
		for _, r := range requests {
			if a.before(r) {
				n++
			}
		}
		return n
	}
	for i := range requests {
		requests[i] = random.Uint64()
	}
	require.Less(t, known(), 3)
	require.Greater(t, known(), len(requests)*9/10)
	for range bytes {
		a.before(random.Uint64())
	}
	require.Less(t, known(), len(requests)/10)
}

// While there is room, all reads are admitted. In a full cache, among concurrent reads of one request,
// one or a few are not admitted.
func TestAdmits(t *testing.T) {
	t.Parallel()
	s := New(1 << 20)
	const requests, callers = 1000, 8
	admitAll := func(from uint64) {
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				for i := range uint64(requests) {
					i += from
					s.Admits([]byte{byte(i), byte(i >> 8)}, i<<50)
				}
			})
		}
		all.Wait()
	}
	s.bytes.Store(s.most * 3 / 4)
	admitAll(0)
	require.Zero(t, s.Counts().First)
	s.bytes.Store(s.most)
	admitAll(0)
	require.Less(t, s.Counts().First, int64(requests*callers/10), "most were asked for before")
	before := s.Counts().First
	admitAll(requests)
	assert.GreaterOrEqual(t, s.Counts().First-before, int64(requests))
	assert.Less(t, s.Counts().First-before, int64(requests*callers/2))
}
