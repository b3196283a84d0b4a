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
	"github.com/joomcode/redispipe/testbed"
)

func benchRig(b *testing.B, opts Opts) (*redisconn.Connection, *Cache) {
	conn := connect(b, testbed.NewServer(b).Addr(), redisconn.Opts{IOTimeout: time.Minute})
	c := cacheOf(b, conn, opts)
	awaitLeases(b, c)
	return conn, c
}

func BenchmarkHit(b *testing.B) {
	_, c := benchRig(b, all)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	require.NoError(b, redis.Err(c.Do(ctx, "SET", "key:12345", "4567")))
	b.Run("int64", func(b *testing.B) {
		b.ReportAllocs()
		var v int64
		for b.Loop() {
			if err := c.DoInto(ctx, &v, "GET", "key:12345"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("string", func(b *testing.B) {
		b.ReportAllocs()
		var v string
		for b.Loop() {
			if err := c.DoInto(ctx, &v, "GET", "key:12345"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("bytes", func(b *testing.B) {
		b.ReportAllocs()
		v := make([]byte, 0, 64)
		for b.Loop() {
			if err := c.DoInto(ctx, &v, "GET", "key:12345"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("SyncCtx", func(b *testing.B) {
		b.ReportAllocs()
		var v int64
		db := redis.SyncCtx{S: c}
		for b.Loop() {
			if err := db.DoInto(ctx, &v, "GET", "key:12345"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			var v int64
			for pb.Next() {
				if err := c.DoInto(ctx, &v, "GET", "key:12345"); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

// BenchmarkMiss reads each key once, from 128 callers that have a deadline: uncached, on the
// tracking connection alone (which tells what the server and RESP3 take of it), and through the
// cache, in turns. It reports how much longer the others take than uncached reads.
func BenchmarkMiss(b *testing.B) {
	const (
		callers = 128
		turn    = 20_000
		keys    = 1 << 20
	)
	conn, c := benchRig(b, Opts{Prefixes: []string{""}, MaxBytes: 1 << 30})
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	db := redis.SyncCtx{S: conn}
	require.NoError(b, redis.Err(db.Do(ctx, "CONFIG SET", "tracking-table-max-keys", 0)))
	for i := 0; i < keys; i += 1000 {
		args := make([]any, 0, 2000)
		for j := i; j < i+1000; j++ {
			args = append(args, "key:"+strconv.Itoa(j), "a value of some thirty bytes..")
		}
		require.NoError(b, redis.Err(db.Do(ctx, "MSET", args...)))
	}
	var tracker redis.Sender
	c.core.nodes.each(func(f *feed) { tracker = f.tracker.Load().conn })
	serverCPU := func() (sum float64) {
		info, err := redis.As[string](redis.SyncCtx{S: connect(b, conn.Addr(), redisconn.Opts{})}.Do(ctx, "INFO", "cpu"))
		require.NoError(b, err)
		for _, name := range []string{"used_cpu_user:", "used_cpu_sys:"} {
			_, after, _ := strings.Cut(info, name)
			text, _, _ := strings.Cut(after, "\r")
			n, err := strconv.ParseFloat(text, 64)
			require.NoError(b, err)
			sum += n
		}
		return sum
	}
	var next atomic.Int64
	read := func(s redis.Sender) time.Duration {
		began := time.Now()
		left := atomic.Int64{}
		left.Store(turn)
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(ctx, time.Minute)
				defer cancel()
				room := make([]byte, 0, 64)
				for left.Add(-1) >= 0 {
					v := room
					if err := (redis.SyncCtx{S: s}).DoInto(ctx, &v, "GET", "key:"+strconv.FormatInt(next.Add(1)%keys, 10)); err != nil || len(v) != 30 {
						b.Error(err, len(v))
					}
				}
			})
		}
		all.Wait()
		return time.Since(began)
	}
	senders := []redis.Sender{conn, tracker, c}
	var logs [3]float64
	var server [3]float64 // seconds
	var took [3]time.Duration
	turns := 0
	for b.Loop() {
		var t [3]time.Duration
		for i := range senders {
			at := (i + turns) % 3
			before := serverCPU()
			t[at] = read(senders[at])
			server[at] += serverCPU() - before
		}
		for i := range t {
			took[i] += t[i]
			logs[i] += math.Log(float64(t[i]) / float64(t[0]))
		}
		turns++
	}
	for i, name := range []string{"uncached", "tracker", "cache"} {
		b.ReportMetric(float64(took[i].Nanoseconds())/float64(turns*turn), name+"-ns")
		b.ReportMetric(server[i]*1e9/float64(turns*turn), name+"-server-ns")
		b.ReportMetric(math.Exp(logs[i]/float64(turns)), name+"-ratio")
	}
	b.Logf("%+v", c.Stats())
}
