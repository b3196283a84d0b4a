package caching

import (
	"testing"
	"time"

	"github.com/joomcode/errorx"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
)

// cached is a client that answers GET from memory, with an empty string for null.
type cached struct {
	get func(key string) (string, error)
	set func(key, value string) error
}

// bound limits the bytes that a client keeps, if it has an option for that.
const bound = 16 << 20

var clients = []struct {
	name    string
	connect func(b *testing.B, addr string) cached
	// cluster connects to a cluster. It is nil if the client caches only with a single server.
	cluster func(b *testing.B, addrs []string) cached
}{
	{"redispipe", redispipe, redispipeCluster},
	{"rueidis", func(b *testing.B, addr string) cached { return rueidisClient(b, []string{addr}) }, rueidisClient},
	{"go-redis", goRedis, nil},
}

func redispipe(b *testing.B, addr string) cached {
	conn, err := redisconn.Connect(b.Context(), addr, redisconn.Opts{Logger: redisconn.NoopLogger{}})
	require.NoError(b, err)
	return redispipeCache(b, conn)
}

func redispipeCluster(b *testing.B, addrs []string) cached {
	cluster, err := rediscluster.NewCluster(b.Context(), addrs, rediscluster.Opts{Logger: rediscluster.NoopLogger{}})
	require.NoError(b, err)
	return redispipeCache(b, cluster)
}

func redispipeCache(b *testing.B, s redis.Sender) cached {
	cache, err := rediscache.New(s, rediscache.Opts{
		Prefixes: []string{""}, MaxBytes: bound,
		NullAge: time.Minute, // long, so that it does not end during a benchmark
	})
	require.NoError(b, err)
	b.Cleanup(cache.Close)
	ctx := b.Context()
	require.Eventually(b, func() bool {
		st := cache.Stats()
		return st.Leases > 0 && st.Leases == st.Nodes
	}, time.Minute, time.Millisecond)
	return cached{
		get: func(key string) (value string, err error) {
			err = cache.DoInto(ctx, &value, "GET", key)
			if errorx.IsOfType(err, redis.ErrResponseNil) {
				err = nil
			}
			return value, err
		},
		set: func(key, value string) error { return redis.Err(cache.Do(ctx, "SET", key, value)) },
	}
}

func rueidisClient(b *testing.B, addrs []string) cached {
	db, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: addrs, CacheSizeEachConn: bound})
	require.NoError(b, err)
	b.Cleanup(db.Close)
	ctx := b.Context()
	return cached{
		get: func(key string) (string, error) {
			text, err := db.DoCache(ctx, db.B().Get().Key(key).Cache(), time.Minute).ToString()
			if rueidis.IsRedisNil(err) {
				err = nil
			}
			return text, err
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
