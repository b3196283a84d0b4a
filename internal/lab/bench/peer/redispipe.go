package peer

import (
	"context"
	"errors"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
)

const redispipeModule = "github.com/joomcode/redispipe"

var redispipeCtx = Driver{
	Name: "redispipe", Module: redispipeModule, How: "redis.SyncCtx on one connection, zero options",
	Ours: true, Shared: true, Pipelines: true, Serves: true,
	Open: func(o Options) (Client, error) {
		s, err := openRedispipe(o)
		return redispipeClient{s: redis.SyncCtx{S: s}}, err
	},
}

var redispipeSync = Driver{
	Name: "redispipe-sync", Module: redispipeModule, How: "redis.Sync, which takes no context, on one connection, zero options",
	Ours: true, Shared: true, OnlyCase: "sync",
	Open: func(o Options) (Client, error) {
		s, err := openRedispipe(o)
		return redispipeSyncClient{s: redis.Sync{S: s}}, err
	},
}

var redispipeInto = Driver{
	Name: "redispipe-into", Module: redispipeModule, How: "redis.SyncCtx, replies decoded into the caller's buffer by DoInto",
	Ours: true, Shared: true, OnlyCase: "into",
	Open: func(o Options) (Client, error) {
		s, err := openRedispipe(o)
		return redispipeIntoClient{redispipeClient{s: redis.SyncCtx{S: s}}}, err
	},
}

var redispipeFence = Driver{
	Name: "redispipe-fence", Module: redispipeModule, How: "redis.SyncCtx with redisconn.Opts.Integrity",
	Ours: true, Shared: true, OnlyCase: "fence",
	Open: func(o Options) (Client, error) {
		s, err := redisconn.Connect(context.Background(), o.Addrs[0],
			redisconn.Opts{Logger: redisconn.NoopLogger{}, Integrity: true})
		return redispipeClient{s: redis.SyncCtx{S: s}}, err
	},
}

// openRedispipe connects with the defaults: no knob is turned for any case.
func openRedispipe(o Options) (redis.Sender, error) {
	opts := redisconn.Opts{Logger: redisconn.NoopLogger{}, TLSEnabled: o.TLS != nil, TLSConfig: o.TLS}
	if o.Cluster {
		return rediscluster.NewCluster(context.Background(), o.Addrs, rediscluster.Opts{
			HostOpts: opts, Logger: rediscluster.NoopLogger{},
			TLSEnabled: opts.TLSEnabled, TLSConfig: opts.TLSConfig,
		})
	}
	return redisconn.Connect(context.Background(), o.Addrs[0], opts)
}

type redispipeClient struct{ s redis.SyncCtx }

func (c redispipeClient) Set(ctx context.Context, key string, value []byte) error {
	return redis.AsError(c.s.Do(ctx, "SET", key, value))
}

func (c redispipeClient) Get(ctx context.Context, key string) ([]byte, error) {
	return redispipeBytes(c.s.Do(ctx, "GET", key))
}

func (c redispipeClient) Close() { c.s.S.Close() }

func (c redispipeClient) Pipeline(ctx context.Context, keys []string, value []byte) (int, error) {
	return redispipeCheck(c.s.SendMany(ctx, redispipeBatch(keys, value)), len(value))
}

func (c redispipeClient) Push(ctx context.Context, list string, job []byte) error {
	return redis.AsError(c.s.Do(ctx, "RPUSH", list, job))
}

func (c redispipeClient) Pop(ctx context.Context, list string) ([]byte, error) {
	var popped [][]byte
	if err := c.s.DoInto(ctx, &popped, "BLPOP", list, int(popTimeout.Seconds())); err != nil {
		return nil, err
	}
	return popped[1], nil
}

var redispipeLimiter = redis.NewScript(limiterScript)

func (c redispipeClient) Allow(ctx context.Context, key string, limit int) (allowed bool, err error) {
	err = redispipeLimiter.DoInto(ctx, c.s.S, &allowed, []string{key}, limit, limiterWindow)
	return allowed, err
}

func (c redispipeClient) Score(ctx context.Context, board, player string, score float64) error {
	return redis.AsError(c.s.Do(ctx, "ZADD", board, score, player))
}

func (c redispipeClient) Top(ctx context.Context, board string, n int) (top []string, err error) {
	err = c.s.DoInto(ctx, &top, "ZREVRANGE", board, 0, n-1)
	return top, err
}

type redispipeIntoClient struct{ redispipeClient }

func (c redispipeIntoClient) GetInto(ctx context.Context, key string, buf *[]byte) error {
	return c.s.DoInto(ctx, buf, "GET", key)
}

type redispipeSyncClient struct{ s redis.Sync }

func (c redispipeSyncClient) Set(_ context.Context, key string, value []byte) error {
	return redis.AsError(c.s.Do("SET", key, value))
}

func (c redispipeSyncClient) Get(_ context.Context, key string) ([]byte, error) {
	return redispipeBytes(c.s.Do("GET", key))
}

func (c redispipeSyncClient) Close() { c.s.S.Close() }

func redispipeBytes(res any) ([]byte, error) {
	if b, ok := res.([]byte); ok {
		return b, nil
	}
	return nil, errors.Join(ErrWrong, redis.AsError(res))
}

func redispipeBatch(keys []string, value []byte) []redis.Request {
	batch := make([]redis.Request, 0, 2*len(keys))
	for _, k := range keys {
		batch = append(batch, redis.Req("SET", k, value), redis.Req("GET", k))
	}
	return batch
}

func redispipeCheck(results []any, size int) (int, error) {
	right := 0
	for _, r := range results {
		switch r := r.(type) {
		case error:
			return right, r
		case string:
			right++
		case []byte:
			if len(r) == size {
				right++
			}
		}
	}
	return right, nil
}
