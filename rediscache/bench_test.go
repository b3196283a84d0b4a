package rediscache

import (
	"context"
	"strconv"
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

// BenchmarkMiss reads a key that is not in memory each time, from 128 goroutines, with a cache
// and without.
func BenchmarkMiss(b *testing.B) {
	conn, c := benchRig(b, Opts{Prefixes: []string{""}, MaxBytes: 512 << 20})
	const keys = 1 << 20
	ctx := context.Background()
	db := redis.SyncCtx{S: conn}
	for i := 0; i < keys; i += 1000 {
		args := make([]any, 0, 2000)
		for j := i; j < i+1000; j++ {
			args = append(args, "key:"+strconv.Itoa(j), "a value of some thirty bytes..")
		}
		require.NoError(b, redis.Err(db.Do(ctx, "MSET", args...)))
	}
	var next atomic.Int64
	read := func(s redis.SyncCtx) func(b *testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(64) // on two processors
			b.RunParallel(func(pb *testing.PB) {
				var v []byte
				for pb.Next() {
					if err := s.DoInto(ctx, &v, "GET", "key:"+strconv.FormatInt(next.Add(1)%keys, 10)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
	var tracker redis.Sender // alone, to tell what the server takes of it
	c.core.nodes.each(func(f *feed) { tracker = f.tracker.Load().conn })
	for range 3 {
		b.Run("uncached", read(db))
		b.Run("tracked", read(redis.SyncCtx{S: tracker}))
		b.Run("cached", read(redis.SyncCtx{S: c}))
	}
	b.Logf("%+v", c.Stats())
}
