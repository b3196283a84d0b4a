package rediscache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// judge starts many goroutines that write numbered versions of keys, and read the keys. It counts the stale
// reads: those that began after a version was acknowledged and returned an older version.
type judge struct {
	cache    *Cache
	uncached redis.SyncCtx
	keys     []*judged
	// loses: servers may lose acknowledged writes. Then no version of a key is written while a read of
	// the key is judged, because after the next write the judge could not find out that one was lost.
	loses bool
	// pause is how long each goroutine rests after a read, so that the servers get most of the processor time.
	pause time.Duration

	reads, checked, writes, failed, lost, stale atomic.Int64
}

// judged is a key with its versions.
type judged struct {
	writing sync.Mutex // held while a version is written
	keyLife atomic.Pointer[keyLife]
	n       int // the number of the present life; guarded by writing
	of      int // the number of the key
}

// keyLife is a key for as long as the outcomes of all its writes are known. A write with an unknown outcome may
// still run later, so after such a write the judge goes on with another key.
type keyLife struct {
	key     string
	acked   atomic.Int64
	version int64 // guarded by writing
}

func newJudge(c *Cache, uncached redis.Sender, keys int) *judge {
	j := &judge{cache: c, uncached: redis.SyncCtx{S: uncached}}
	for i := range keys {
		k := &judged{of: i}
		k.begin()
		j.keys = append(j.keys, k)
	}
	return j
}

func (k *judged) begin() {
	k.n++
	k.keyLife.Store(&keyLife{key: fmt.Sprintf("judged:%d:%d", k.of, k.n)})
}

// write writes the next version of a key. way selects how it is sent.
func (j *judge) write(ctx context.Context, k *judged, way int) {
	k.writing.Lock()
	defer k.writing.Unlock()
	l := k.keyLife.Load()
	l.version++
	j.writes.Add(1)
	var err error
	switch way % 5 {
	case 0:
		err = redis.Err(j.cache.Do(ctx, "SET", l.key, l.version))
	case 1:
		_, err = j.cache.Transact(ctx, []redis.Request{redis.Req("SET", l.key, l.version)})
	case 2:
		err = redis.FirstError(j.cache.DoMany(ctx, []redis.Request{redis.Req("GET", l.key), redis.Req("SET", l.key, l.version)}))
	case 3:
		err = redis.Err(j.cache.Do(ctx, "EVAL", "return redis.call('SET', KEYS[1], ARGV[1])", 1, l.key, l.version))
	case 4:
		err = redis.Err(j.cache.Do(ctx, "SETEX", l.key, 1000, l.version))
	}
	if err != nil {
		j.failed.Add(1)
		k.begin()
		return
	}
	l.acked.Store(l.version)
}

// read reads a key, and judges the result. way selects how it is sent.
func (j *judge) read(ctx context.Context, k *judged, way int) {
	if j.loses {
		k.writing.Lock()
		defer k.writing.Unlock()
	}
	l := k.keyLife.Load()
	acked := l.acked.Load()
	var res any
	switch way % 10 {
	case 0:
		res = j.cache.DoMany(ctx, []redis.Request{redis.Req("GET", l.key)})[0]
	case 1:
		several, err := redis.As[[]any](j.cache.Do(ctx, "MGET", l.key, l.key))
		if res = err; err == nil {
			res = several[0]
		}
	default:
		res = j.cache.Do(ctx, "GET", l.key)
	}
	j.reads.Add(1)
	version, ok := versionOf(res)
	if !ok {
		return
	}
	if j.checked.Add(1); version >= acked {
		return
	}
	// A server may have lost an acknowledged write. In that case an uncached read does not return the
	// value either.
	now, ok := versionOf(j.uncached.Do(ctx, "GET", l.key))
	if !ok || now < acked {
		j.lost.Add(1)
		if !j.loses {
			k.writing.Lock()
			defer k.writing.Unlock()
		}
		k.begin()
		return
	}
	j.stale.Add(1)
}

func versionOf(res any) (int64, bool) {
	if res == nil {
		return 0, true
	}
	version, err := redis.As[int64](res)
	return version, err == nil
}

// run starts goroutines that write and read until there were enough reads or ctx ends.
func (j *judge) run(t *testing.T, ctx context.Context, reads int64) {
	t.Helper()
	var all sync.WaitGroup
	for seed := range uint64(32) {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(len(j.keys))))
			for j.checked.Load() < reads && ctx.Err() == nil {
				k := j.keys[random.IntN(len(j.keys))]
				if random.IntN(5) == 0 {
					j.write(ctx, k, random.IntN(5))
					j.read(ctx, k, random.IntN(10))
				} else {
					j.read(ctx, k, random.IntN(10))
				}
				time.Sleep(j.pause)
			}
		})
	}
	all.Wait()
	st := j.cache.Stats()
	t.Logf("%d reads judged of %d, %d writes, %d failed, %d lost by servers; %d stale; %+v",
		j.checked.Load(), j.reads.Load(), j.writes.Load(), j.failed.Load(), j.lost.Load(), j.stale.Load(), st)
	require.Zero(t, j.stale.Load())
	assert.Positive(t, st.Hits)
}

// judgedReads returns how many reads a test judges.
func judgedReads(inFull, otherwise int64) int64 {
	if drill.InFull {
		return inFull
	}
	return otherwise
}

// No read returns an older value than a write that was acknowledged before the read.
func TestNeverStale(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	r := newRig(t, all)
	j := newJudge(r.cache, r.other.S, 20)
	j.run(t, t.Context(), judgedReads(1_000_000, 30_000))
	assert.Zero(t, j.failed.Load()+j.lost.Load())
}

// No read is stale while sockets break and replies are late.
func TestNeverStaleUnderFaults(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	server := testbed.NewServer(t)
	proxy := chaos.NewProxy(t, server.Addr(), chaos.ProxyOpts{Seed: 1, LogLimit: -1})
	for _, f := range []chaos.Fault{
		{Do: chaos.Reset, On: chaos.Replies, At: chaos.AtChance(0.0001), Times: -1},
		{Do: chaos.Cut, On: chaos.Requests, At: chaos.AtChance(0.0001), Times: -1},
		{Do: chaos.Delay, On: chaos.Replies, At: chaos.AtChance(0.001), Times: -1, Interval: 5 * time.Millisecond},
		{Do: chaos.Slice, On: chaos.Replies, At: chaos.AtChance(0.001), Times: -1, N: 100},
	} {
		proxy.Arm(f)
	}
	c := cacheOf(t, connect(t, proxy.Addr(), redisconn.Opts{IOTimeout: 20 * time.Second, DialTimeout: time.Second}), all)
	j := newJudge(c, connect(t, server.Addr(), redisconn.Opts{}), 20)
	j.run(t, t.Context(), judgedReads(1_000_000, 30_000))
	assert.Positive(t, j.failed.Load())
}
