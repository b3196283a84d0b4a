package memory

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

	"github.com/joomcode/redispipe/internal/lab/drill"
)

// reads is a store whose reads a test begins and fills itself.
type reads struct {
	*Store
	lease *Lease
}

func newReads(most int64) *reads {
	r := &reads{New(most), new(Lease)}
	r.lease.until.Store(1 << 62)
	return r
}

// begin begins the read of a request with the given keys.
func (r *reads) begin(request string, keys ...string) (q *Read, how Joined) {
	q = &Read{Request: []byte(request), Lease: r.lease, Sent: Now(), Key: HashOf(firstOf(request, keys))}
	for i := 1; i < len(keys); i++ {
		q.More = append(q.More, HashOf(keys[i]))
	}
	_, how = r.Join(q, Waiter{}, anyReply)
	return q, how
}

// anyReply are limits that accept any reply.
var anyReply = Limits{Age: time.Hour, NullAge: time.Hour, All: true}

// fill fills a read that begin has begun.
func (r *reads) fill(q *Read, value string) (waiting []Waiter) {
	both := string(q.Request) + value
	return r.Fill(q, both[:len(q.Request)], TextOf(both[len(q.Request):]))
}

func (r *reads) has(request string, keys ...string) bool {
	_, has := r.text(request, firstOf(request, keys))
	return has
}

// text returns the kept text reply to a request.
func (r *reads) text(request, key string) (text string, found bool) {
	var v Value
	found = r.Find([]byte(request), HashOf(key), &anyReply, &v)
	return v.text, found
}

func firstOf(request string, keys []string) string {
	if len(keys) > 0 {
		return keys[0]
	}
	return request
}

func (r *reads) isEmpty(t *testing.T) {
	t.Helper()
	counts := r.Counts()
	assert.Zero(t, counts.Bytes)
	assert.Zero(t, counts.Entries)
	for i := range r.shards {
		assert.Empty(t, r.shards[i].tags)
		assert.Nil(t, r.shards[i].oldest)
		assert.Nil(t, r.shards[i].newest)
	}
}

// A reply is kept only if its key has not changed and its lease has not ended since the read began. No
// caller joins a read whose key has changed or whose lease has ended.
func TestFill(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		between func(r *reads)
		kept    bool
	}{
		"nothing":          {func(*reads) {}, true},
		"another key":      {func(r *reads) { r.Changed(HashOf("other"), ByServer) }, true},
		"invalidation":     {func(r *reads) { r.Changed(HashOf("key"), ByServer) }, false},
		"own write":        {func(r *reads) { r.Changed(HashOf("key"), ByWrite) }, false},
		"end of the lease": {func(r *reads) { r.lease.End() }, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReads(1 << 20)
			e, how := r.begin("key")
			require.Equal(t, Asks, how)
			c.between(r)
			_, how = r.begin("key")
			if c.kept {
				require.Equal(t, Waits, how)
			} else {
				require.Equal(t, Asks, how)
			}
			waiting := r.fill(e, "old")
			require.Len(t, waiting, map[bool]int{true: 2, false: 1}[c.kept])
			require.Equal(t, c.kept, r.has("key"))
		})
	}
}

// A change of any of its keys drops an entry. Nothing of the entry is left in the store.
func TestChanged(t *testing.T) {
	t.Parallel()
	r := newReads(1 << 20)
	keys := []string{"a", "b", "a"}
	e, _ := r.begin("MGET", keys...)
	r.fill(e, "value")
	require.True(t, r.has("MGET", keys...))
	r.Changed(HashOf("b"), ByServer)
	require.False(t, r.has("MGET", keys...))
	r.isEmpty(t)
}

// The memory of the entries is within 5 % of the bound.
func TestBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and has one goroutine")
	}
	texts := func(size func() int) func(r *reads, i int) {
		return func(r *reads, i int) {
			key := fmt.Sprintf("key:%08d", i)
			q, _ := r.begin(fmt.Sprintf("*2\r\n$3\r\nGET\r\n$12\r\n%s\r\n", key), key)
			r.fill(q, strings.Repeat("x", size()))
		}
	}
	others := func(reply func() any) func(r *reads, i int) {
		return func(r *reads, i int) {
			q, _ := r.begin(fmt.Sprintf("*2\r\n$7\r\nHGETALL\r\n$12\r\nkey:%08d\r\n", i))
			r.Fill(q, string(q.Request), ValueOf(reply()))
		}
	}
	for name, c := range map[string]struct {
		most int64
		add  func(r *reads, i int)
	}{
		"small":  {8 << 20, texts(func() int { return 10 })},
		"mixed":  {8 << 20, texts(func() int { return rand.IntN(4000) })},
		"medium": {8 << 20, texts(func() int { return 1000 })},
		"3.5 KB": {8 << 20, texts(func() int { return 3500 })},
		"7 KB":   {8 << 20, texts(func() int { return 6950 })},
		"33 KB":  {8 << 20, texts(func() int { return 33_000 })},
		"keys and values of any size": {32 << 20, func(r *reads, i int) {
			key := fmt.Sprintf("key:%0*d", 8+rand.IntN(500), i)
			q, _ := r.begin("*2\r\n$3\r\nGET\r\n$12\r\n"+key, key)
			r.fill(q, strings.Repeat("x", rand.IntN(1<<rand.IntN(18))))
		}},
		"many": {48 << 20, texts(func() int { return 10 + rand.IntN(20) })},
		"fields of a few keys": {8 << 20, func(r *reads, i int) {
			key := fmt.Sprint("key:", i%100)
			q, _ := r.begin(fmt.Sprintf("*3\r\n$4\r\nHGET\r\n$12\r\n%s\r\n$7\r\n:%06d\r\n", key, i), key)
			r.fill(q, "0123456789")
		}},
		"several keys": {8 << 20, func(r *reads, i int) {
			keys := []string{fmt.Sprintf("key:%08d", i), fmt.Sprintf("key:%08d", i+1<<24)}
			q, _ := r.begin(fmt.Sprintf("*3\r\n$4\r\nMGET\r\n$12\r\n%s\r\n$12\r\n%s\r\n", keys[0], keys[1]), keys...)
			r.Fill(q, string(q.Request), ValueOf([]any{[]byte("a value"), nil}))
		}},
		"lists": {8 << 20, others(func() any {
			list := make([]any, rand.IntN(40))
			for i := range list {
				list[i] = make([]byte, rand.IntN(100))
			}
			return list
		})},
		"maps of one size": {8 << 20, others(func() any {
			fields := map[string]any{}
			for i := range 15 {
				fields[fmt.Sprint("the name of field ", i)] = make([]byte, 10)
			}
			return fields
		})},
		"maps": {8 << 20, others(func() any {
			fields := map[string]any{}
			for i := range rand.IntN(40) {
				fields[fmt.Sprint("the name of field ", i)] = make([]byte, rand.IntN(100))
			}
			return fields
		})},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "many" && !drill.InFull {
				t.Skip("it takes as long as all others together")
			}
			before := heap()
			r := newReads(c.most)
			// Add entries until as many were evicted as the store holds.
			for i := 0; i%100 > 0 || r.dropped[BySpace].Load() <= r.Counts().Entries; i++ {
				c.add(r, i)
				if bytes := r.bytes.Load(); bytes > r.most {
					t.Fatal(bytes)
				}
			}
			taken := heap() - before
			t.Logf("%d entries: %d bytes counted, %d taken of %d: %+.1f %%", r.Counts().Entries, r.bytes.Load(), taken, c.most,
				100*float64(taken-c.most)/float64(c.most))
			assert.InEpsilon(t, c.most, taken, 0.05)
			runtime.KeepAlive(r)
		})
	}
}

// heap returns the number of reachable bytes on the heap.
func heap() int64 {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A value that would take more than its share of the store is not kept, so it does not evict other values.
func TestLargeValue(t *testing.T) {
	t.Parallel()
	r := newReads(64 << 20)
	for i := range 1000 {
		e, _ := r.begin(fmt.Sprint(i))
		r.fill(e, strings.Repeat("x", 60_000))
	}
	before := r.Counts().Entries
	e, _ := r.begin("large")
	require.Len(t, r.fill(e, strings.Repeat("x", 10<<20)), 1)
	assert.False(t, r.has("large"))
	assert.Equal(t, before, r.Counts().Entries)
	e, _ = r.begin("share")
	r.fill(e, strings.Repeat("x", 1<<20))
	assert.True(t, r.has("share"))
	assert.Greater(t, r.Counts().Entries, before-30)
}

// An entry that is read often stays while many others are read once.
func TestScanResistance(t *testing.T) {
	t.Parallel()
	r := newReads(4 << 20)
	for i := range 1000 {
		e, _ := r.begin(fmt.Sprint("often:", i))
		r.fill(e, "value")
	}
	for i := range 100_000 {
		r.has(fmt.Sprint("often:", i%1000))
		e, _ := r.begin(fmt.Sprint("once:", i))
		r.fill(e, "value")
	}
	stayed := 0
	for i := range 1000 {
		if r.has(fmt.Sprint("often:", i)) {
			stayed++
		}
	}
	assert.Greater(t, stayed, 700)
}

// After many concurrent calls, the counters agree with the contents.
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
					r.Changed(HashOf(key), ByWrite)
				case 1:
					r.has(key)
				default:
					if e, how := r.begin(key); how == Asks {
						r.fill(e, strings.Repeat("x", random.IntN(1000)))
					}
				}
			}
		})
	}
	all.Wait()
	for i := range 3000 {
		r.Changed(HashOf(fmt.Sprint(i)), ByWrite)
	}
	r.isEmpty(t)
}

// BenchmarkZipf reads keys with a Zipf distribution of the exponent 1.01. It reports the share of reads that
// are answered from memory and the share whose replies are kept, for a store that keeps every reply and for
// one that keeps those that Admits admits.
func BenchmarkZipf(b *testing.B) {
	for name, wanted := range map[string]func(r *reads, key string) bool{
		"each":     func(*reads, string) bool { return true },
		"admitted": func(r *reads, key string) bool { return r.Admits([]byte(key), HashOf(key)) },
	} {
		b.Run(name, func(b *testing.B) {
			const warm = 1_000_000 // reads
			r, keys := newReads(4<<20), rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.01, 1, 1<<20)
			var before Counts
			n := 0
			for ; n < warm || b.Loop(); n++ {
				if n == warm {
					before = r.Counts()
				}
				if key := fmt.Sprintf("key:%07d", keys.Uint64()); !r.has(key) && wanted(r, key) {
					q, _ := r.begin(key)
					r.fill(q, "a value of some thirty bytes..")
				}
			}
			after := r.Counts()
			b.ReportMetric(100*float64(after.Hits-before.Hits)/float64(n-warm), "%-hits")
			b.ReportMetric(100*float64(after.Misses-before.Misses)/float64(n-warm), "%-kept")
		})
	}
}
