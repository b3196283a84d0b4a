package rediscache

import (
	"context"
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
	b.Run("SyncCtx with a deadline", func(b *testing.B) {
		b.ReportAllocs()
		ctx, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
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
