package rediscache

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// reads are reads of a store without servers.
type reads struct {
	*store
	lease *lease
}

func newReads(most int64) *reads {
	r := &reads{newStore(most), new(lease)}
	r.lease.until.Store(1 << 62)
	return r
}

// begin begins the read of a key, which makes the entry that is returned.
func (r *reads) begin(key string) (e *entry, how joined) {
	e = &entry{hash: hashOf(key), request: key, lease: r.lease, sent: now()}
	e.reading = &reading{entry: e}
	e.tags = append(e.one[:0], r.tags.hold(hashOf(key), e))
	return r.join(e, waiter{}, time.Hour, time.Hour)
}

func (r *reads) has(key string) bool {
	return r.find([]byte(key), hashOf(key), time.Hour, time.Hour) != nil
}

func text(s string) value { return value{text: s, isText: true} }

// A reply is kept only if nothing has happened to its key, and its lease, since it was asked for;
// and nobody joins a read that was sent before.
func TestFill(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		between func(r *reads)
		kept    bool
	}{
		"nothing":          {func(*reads) {}, true},
		"another key":      {func(r *reads) { r.changed(hashOf("other"), byServer) }, true},
		"invalidation":     {func(r *reads) { r.changed(hashOf("key"), byServer) }, false},
		"own write":        {func(r *reads) { r.changed(hashOf("key"), byWrite) }, false},
		"end of the lease": {func(r *reads) { r.lease.end() }, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReads(1 << 20)
			e, how := r.begin("key")
			require.Equal(t, asks, how)
			c.between(r)
			_, how = r.begin("key")
			if c.kept {
				require.Equal(t, waits, how)
			} else {
				require.Equal(t, asks, how)
			}
			waiting := r.fill(e, text("old"))
			require.Len(t, waiting, map[bool]int{true: 2, false: 1}[c.kept])
			require.Equal(t, c.kept, r.has("key"))
		})
	}
}

// What is filled is dropped by an event of any of its keys, with all that is known of it.
func TestChanged(t *testing.T) {
	t.Parallel()
	r := newReads(1 << 20)
	e := &entry{hash: hashOf("MGET"), request: "MGET", lease: r.lease, sent: now()}
	e.reading = &reading{entry: e}
	for _, key := range []string{"a", "b", "a"} {
		e.tags = append(e.tags, r.tags.hold(hashOf(key), e))
	}
	r.join(e, waiter{}, time.Hour, time.Hour)
	r.fill(e, text("value"))
	require.True(t, r.has("MGET"))
	r.changed(hashOf("b"), byServer)
	require.False(t, r.has("MGET"))
	assert.Zero(t, r.bytes.Load()+r.entries.Load())
	for i := range r.tags {
		assert.Empty(t, r.tags[i].m)
	}
}

// The bytes that are counted stay within the bound, and are those that are taken, within 5 %.
func TestBytes(t *testing.T) {
	const most = 8 << 20
	heap := func() int64 {
		var m runtime.MemStats
		for range 3 {
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for name, size := range map[string]func() int{
		"small":  func() int { return 10 },
		"mixed":  func() int { return rand.IntN(4000) },
		"medium": func() int { return 1000 },
	} {
		t.Run(name, func(t *testing.T) {
			before := heap()
			r := newReads(most)
			for i := range 50_000 {
				e, _ := r.begin(fmt.Sprintf("*2\r\n$3\r\nGET\r\n$12\r\nkey:%08d\r\n", i))
				r.fill(e, text(strings.Repeat("x", size())))
				if bytes := r.bytes.Load(); bytes > most {
					t.Fatal(bytes)
				}
			}
			counted, taken := r.bytes.Load(), heap()-before
			t.Logf("%d entries: %d bytes counted, %d taken", r.entries.Load(), counted, taken)
			assert.InEpsilon(t, counted, taken, 0.1)
			assert.LessOrEqual(t, float64(taken), 1.05*most)
			assert.Greater(t, counted, int64(most*90/100))
			runtime.KeepAlive(r)
		})
	}
}

// One large value does not push out everything: it is not kept if it is more than its share.
func TestLargeValue(t *testing.T) {
	t.Parallel()
	r := newReads(64 << 20)
	for i := range 1000 {
		e, _ := r.begin(fmt.Sprint(i))
		r.fill(e, text(strings.Repeat("x", 60_000)))
	}
	before := r.entries.Load()
	e, _ := r.begin("large")
	require.Len(t, r.fill(e, text(strings.Repeat("x", 10<<20))), 1)
	assert.False(t, r.has("large"))
	assert.Equal(t, before, r.entries.Load())
	e, _ = r.begin("share")
	r.fill(e, text(strings.Repeat("x", 1<<20)))
	assert.True(t, r.has("share"))
	assert.Greater(t, r.entries.Load(), before-30)
}

// What is read often stays when much is read once.
func TestScanResistance(t *testing.T) {
	t.Parallel()
	r := newReads(4 << 20)
	for i := range 1000 {
		e, _ := r.begin(fmt.Sprint("often:", i))
		r.fill(e, text("value"))
	}
	for i := range 100_000 {
		r.has(fmt.Sprint("often:", i%1000))
		e, _ := r.begin(fmt.Sprint("once:", i))
		r.fill(e, text("value"))
	}
	stayed := 0
	for i := range 1000 {
		if r.has(fmt.Sprint("often:", i)) {
			stayed++
		}
	}
	assert.Greater(t, stayed, 700)
}

// Whatever happens at once, the counts are right in the end.
func TestStoreAtOnce(t *testing.T) {
	t.Parallel()
	r := newReads(1 << 20)
	var all sync.WaitGroup
	for seed := range uint64(8) {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, 1))
			for range 20_000 {
				key := fmt.Sprint(random.IntN(3000))
				switch random.IntN(4) {
				case 0:
					r.changed(hashOf(key), byWrite)
				case 1:
					r.has(key)
				default:
					if e, how := r.begin(key); how == asks {
						r.fill(e, text(strings.Repeat("x", random.IntN(1000))))
					}
				}
			}
		})
	}
	all.Wait()
	for i := range 3000 {
		r.changed(hashOf(fmt.Sprint(i)), byWrite)
	}
	assert.Zero(t, r.bytes.Load())
	assert.Zero(t, r.entries.Load())
	for i := range r.shards {
		assert.Empty(t, r.shards[i].entries)
		assert.Nil(t, r.shards[i].oldest)
		assert.Nil(t, r.shards[i].newest)
		assert.Empty(t, r.tags[i].m)
	}
}
