package rediscache

import (
	"context"
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

// misser reads keys that neither the server nor the cache knows a reader of.
type misser struct {
	db   redis.SyncCtx // uncached
	info redis.SyncCtx // of which no socket is measured
	next atomic.Int64
}

const (
	missCallers = 128
	missTurn    = 20_000
	missKeys    = 1 << 20
	missValue   = "a value of some thirty bytes.."
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

// read reads the next keys, from many callers that have a deadline.
func (m *misser) read(b *testing.B, s redis.Sender) {
	var left atomic.Int64
	left.Store(missTurn)
	var all sync.WaitGroup
	for range missCallers {
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

// BenchmarkMiss reads each key once, from 128 callers that have a deadline: uncached, on the
// tracking connection alone (which tells what the server takes of it), and through the cache, in
// turns. It reports how much longer the others take than uncached reads: while the cache grows, and
// while it is full.
func BenchmarkMiss(b *testing.B) {
	for name, bytes := range map[string]int64{"growing": 1 << 30, "full": 4 << 20} {
		b.Run(name, func(b *testing.B) { benchmarkMiss(b, bytes) })
	}
}

func benchmarkMiss(b *testing.B, bytes int64) {
	conn, c := benchRig(b, Opts{Prefixes: []string{""}, MaxBytes: bytes})
	m := &misser{db: redis.SyncCtx{S: conn}, info: redis.SyncCtx{S: connect(b, conn.Addr(), redisconn.Opts{})}}
	require.NoError(b, redis.Err(m.db.Do(b.Context(), "CONFIG SET", "tracking-table-max-keys", 0)))
	m.write(b, 0, missKeys)
	var tracker redis.SyncCtx
	c.core.nodes.each(func(f *feed) { tracker.S = f.tracker.Load().conn })
	senders := []redis.Sender{conn, tracker.S, c}
	m.read(b, c) // so that a cache that is to be full is
	var logs [3]float64
	var took, server [3]time.Duration
	turns := 0
	for b.Loop() {
		var t [3]time.Duration
		for i := range senders {
			at := (i + turns) % 3
			m.write(b, m.next.Load(), m.next.Load()+missTurn)
			require.NoError(b, redis.Err(tracker.Do(b.Context(), "PING"))) // it was told
			before, began := m.serverCPU(b), time.Now()
			m.read(b, senders[at])
			t[at] = time.Since(began)
			server[at] += m.serverCPU(b) - before
		}
		for i := range t {
			took[i] += t[i]
			logs[i] += math.Log(float64(t[i]) / float64(t[0]))
		}
		turns++
	}
	each := func(t time.Duration) float64 { return float64(t.Nanoseconds()) / float64(turns*missTurn) }
	for i, name := range []string{"uncached", "tracker", "cache"} {
		b.ReportMetric(each(took[i]), name+"-ns")
		b.ReportMetric(each(server[i]), name+"-server-ns")
		b.ReportMetric(math.Exp(logs[i]/float64(turns)), name+"-ratio")
	}
	b.Logf("%+v", c.Stats())
}
