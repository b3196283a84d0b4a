package peer

import (
	"context"
	"errors"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
)

const redispipeModule = "github.com/joomcode/redispipe"

var redispipeSync = Driver{
	Name: "redispipe", Module: redispipeModule, How: "redis.Sync on one connection, zero options",
	Ours: true, Shared: true, Pipelines: true,
	Open: func(o Options) (Client, error) {
		s, err := openRedispipe(o)
		return redispipeClient{s: redis.Sync{S: s}}, err
	},
}

var redispipeCtx = Driver{
	Name: "redispipe-ctx", Module: redispipeModule, How: "redis.SyncCtx on one connection, zero options",
	Ours: true, Shared: true, Pipelines: true, OnlyCase: "ctx",
	Open: func(o Options) (Client, error) {
		s, err := openRedispipe(o)
		return redispipeCtxClient{s: redis.SyncCtx{S: s}}, err
	},
}

var redispipeInto = Driver{
	Name: "redispipe-into", Module: redispipeModule, How: "redis.Sync, replies decoded into the caller's buffer by DoInto",
	Ours: true, Shared: true, OnlyCase: "into",
	Open: func(o Options) (Client, error) {
		s, err := openRedispipe(o)
		return redispipeIntoClient{redispipeClient{s: redis.Sync{S: s}}}, err
	},
}

var redispipeFence = Driver{
	Name: "redispipe-fence", Module: redispipeModule, How: "redis.Sync with redisconn.Opts.Integrity",
	Ours: true, Shared: true, OnlyCase: "fence",
	Open: func(o Options) (Client, error) {
		s, err := redisconn.Connect(context.Background(), o.Addrs[0],
			redisconn.Opts{Logger: redisconn.NoopLogger{}, Integrity: true})
		return redispipeClient{s: redis.Sync{S: s}}, err
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

type redispipeClient struct{ s redis.Sync }

func (c redispipeClient) Set(_ context.Context, key string, value []byte) error {
	return redis.AsError(c.s.Do("SET", key, value))
}

func (c redispipeClient) Get(_ context.Context, key string) ([]byte, error) {
	return redispipeBytes(c.s.Do("GET", key))
}

func (c redispipeClient) Close() { c.s.S.Close() }

func (c redispipeClient) Pipeline(_ context.Context, keys []string, value []byte) (int, error) {
	return redispipeCheck(c.s.SendMany(redispipeBatch(keys, value)), len(value))
}

type redispipeIntoClient struct{ redispipeClient }

func (c redispipeIntoClient) GetInto(_ context.Context, key string, buf *[]byte) error {
	return c.s.DoInto(buf, "GET", key)
}

type redispipeCtxClient struct{ s redis.SyncCtx }

func (c redispipeCtxClient) Set(ctx context.Context, key string, value []byte) error {
	return redis.AsError(c.s.Do(ctx, "SET", key, value))
}

func (c redispipeCtxClient) Get(ctx context.Context, key string) ([]byte, error) {
	return redispipeBytes(c.s.Do(ctx, "GET", key))
}

func (c redispipeCtxClient) Close() { c.s.S.Close() }

func (c redispipeCtxClient) Pipeline(ctx context.Context, keys []string, value []byte) (int, error) {
	return redispipeCheck(c.s.SendMany(ctx, redispipeBatch(keys, value)), len(value))
}

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
