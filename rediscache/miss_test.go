package rediscache

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// misser reads keys that neither the server nor the cache has seen before.
type misser struct {
	callers int
	db      redis.SyncCtx // uncached
	info    redis.SyncCtx // a separate connection, for requests that are not measured
	next    atomic.Int64
}

const (
	missTurn  = 20_000
	missKeys  = 1 << 21 // enough for 25 turns that read each key once
	missValue = "a value of some thirty bytes.."
)

func missKey(n int64) string { return "key:" + strconv.FormatInt(n%missKeys, 10) }

// write writes keys, so that the server forgets who has read them.
func (m *misser) write(b *testing.B, from, to int64) {
	for i := from; i < to; i += 1000 {
		args := make([]any, 0, 2000)
		for j := i; j < i+1000; j++ {
			args = append(args, missKey(j), missValue)
		}
		require.NoError(b, redis.Err(m.db.Do(b.Context(), "MSET", args...)))
	}
}

// read reads the next keys. Its callers have deadlines.
func (m *misser) read(b *testing.B, s redis.Sender) {
	var left atomic.Int64
	left.Store(missTurn)
	var all sync.WaitGroup
	for range m.callers {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
			defer cancel()
			room := make([]byte, 0, 64)
			for left.Add(-1) >= 0 {
				v := room
				if err := (redis.SyncCtx{S: s}).DoInto(ctx, &v, "GET", missKey(m.next.Add(1)-1)); err != nil || len(v) != len(missValue) {
					b.Error(err, len(v))
				}
			}
		})
	}
	all.Wait()
}

// serverCPU returns the processor time that the server has taken.
func (m *misser) serverCPU(b *testing.B) (sum time.Duration) {
	info, err := redis.As[string](m.info.Do(b.Context(), "INFO", "cpu"))
	require.NoError(b, err)
	for _, name := range []string{"used_cpu_user:", "used_cpu_sys:"} {
		_, after, _ := strings.Cut(info, name)
		text, _, _ := strings.Cut(after, "\r")
		n, err := strconv.ParseFloat(text, 64)
		require.NoError(b, err)
		sum += time.Duration(n * float64(time.Second))
	}
	return sum
}

// asked makes the cache remember the requests for the next keys, as if they had been sent before.
func (m *misser) asked(b *testing.B, c *Cache) {
	for i := range int64(missTurn) {
		request, err := redis.AppendRequest(nil, redis.Req("GET", missKey(m.next.Load()+i)))
		require.NoError(b, err)
		c.core.store.Admits(request, 0)
	}
}

// BenchmarkMiss compares reads that miss the cache with uncached reads. Callers with deadlines read each key
// once, in four ways that take turns:
//
//   - without a cache;
//   - over the tracking connection without the cache, which shows the server's share;
//   - through the cache, for the first time;
//   - through the cache, after the keys were requested before.
//
// A cache that is not full keeps each reply the first time, so the last two ways do the same. A full cache
// remembers about a third of the keys that were requested before, and treats the others as new.
func BenchmarkMiss(b *testing.B) {
	for _, callers := range []int{8, 128} {
		for name, bytes := range map[string]int64{"growing": 256 << 20, "full": 4 << 20} {
			b.Run(fmt.Sprintf("%d callers/%s", callers, name), func(b *testing.B) { benchmarkMiss(b, callers, bytes) })
		}
	}
}

func benchmarkMiss(b *testing.B, callers int, bytes int64) {
	conn, c := benchRig(b, Opts{Prefixes: []string{""}, MaxBytes: bytes})
	m := &misser{callers: callers, db: redis.SyncCtx{S: conn}, info: redis.SyncCtx{S: connect(b, conn.Addr(), redisconn.Opts{})}}
	require.NoError(b, redis.Err(m.db.Do(b.Context(), "CONFIG SET", "tracking-table-max-keys", 0)))
	m.write(b, 0, missKeys)
	var tracker redis.SyncCtx
	c.core.nodes.each(func(f *feed) { tracker.S = f.tracker.Load().conn })
	const uncached, tracked, first, again = 0, 1, 2, 3
	senders := [...]redis.Sender{uncached: conn, tracked: tracker.S, first: c, again: c}
	for c.Stats().First == 0 && c.Stats().Misses < missTurn { // fills a small cache
		m.read(b, c)
	}
	var logs [len(senders)]float64
	var took, server [len(senders)]time.Duration
	turns := 0
	for b.Loop() {
		var t [len(senders)]time.Duration
		for i := range senders {
			at := (i + turns) % len(senders)
			m.write(b, m.next.Load(), m.next.Load()+missTurn)
			if at == again {
				m.asked(b, c)
			}
			require.NoError(b, redis.Err(tracker.Do(b.Context(), "PING"))) // after this, all invalidations have arrived
			before, began := m.serverCPU(b), time.Now()
			m.read(b, senders[at])
			t[at] = time.Since(began)
			server[at] += m.serverCPU(b) - before
		}
		for i := range t {
			took[i] += t[i]
			logs[i] += math.Log(float64(t[i]) / float64(t[uncached]))
		}
		turns++
	}
	each := func(t time.Duration) float64 { return float64(t.Nanoseconds()) / float64(turns*missTurn) }
	for i, name := range []string{"uncached", "tracker", "first", "again"} {
		b.ReportMetric(each(took[i]), name+"-ns")
		b.ReportMetric(each(server[i]), name+"-server-ns")
		b.ReportMetric(math.Exp(logs[i]/float64(turns)), name+"-ratio")
	}
	b.Logf("%+v", c.Stats())
}
