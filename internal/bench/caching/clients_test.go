package caching

import (
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache"
	"github.com/joomcode/redispipe/redisconn"
)

// cached is a client that answers GET out of memory.
type cached struct {
	get func(key string) (string, error)
	set func(key, value string) error
}

// bound is of the bytes that a client keeps, if it has an option for that.
const bound = 16 << 20

var clients = []struct {
	name    string
	connect func(b *testing.B, addr string) cached
}{
	{"redispipe", redispipe},
	{"rueidis", rueidisClient},
	{"go-redis", goRedis},
}

func redispipe(b *testing.B, addr string) cached {
	conn, err := redisconn.Connect(b.Context(), addr, redisconn.Opts{Logger: redisconn.NoopLogger{}})
	require.NoError(b, err)
	cache, err := rediscache.New(conn, rediscache.Opts{Prefixes: []string{""}, MaxBytes: bound})
	require.NoError(b, err)
	b.Cleanup(cache.Close)
	ctx := b.Context()
	require.Eventually(b, func() bool { return cache.Stats().Leases == 1 }, time.Minute, time.Millisecond)
	return cached{
		get: func(key string) (value string, err error) {
			err = cache.DoInto(ctx, &value, "GET", key)
			return value, err
		},
		set: func(key, value string) error { return redis.Err(cache.Do(ctx, "SET", key, value)) },
	}
}

func rueidisClient(b *testing.B, addr string) cached {
	db, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, CacheSizeEachConn: bound})
	require.NoError(b, err)
	b.Cleanup(db.Close)
	ctx := b.Context()
	return cached{
		get: func(key string) (string, error) {
			return db.DoCache(ctx, db.B().Get().Key(key).Cache(), time.Minute).ToString()
		},
		set: func(key, value string) error {
			return db.Do(ctx, db.B().Set().Key(key).Value(value).Build()).Error()
		},
	}
}

func goRedis(b *testing.B, addr string) cached {
	db := goredis.NewClient(&goredis.Options{
		Addr: addr, Protocol: 3, ClientSideCacheConfig: &goredis.ClientSideCacheConfig{MaxMemoryBytes: bound},
	})
	b.Cleanup(func() { db.Close() })
	ctx := b.Context()
	return cached{
		get: func(key string) (string, error) { return db.Get(ctx, key).Result() },
		set: func(key, value string) error { return db.Set(ctx, key, value, 0).Err() },
	}
}
