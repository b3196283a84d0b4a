package h2h

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	goRedisModule = "github.com/redis/go-redis/v9"
	goRedisSafest = "MaxRetries off, ContextTimeoutEnabled, time-outs of 1 s"
)

var goRedisPool = entry{
	name: "go-redis", module: goRedisModule, safest: goRedisSafest, sentinel: true,
	open: func(t target) (Subject, error) {
		c := goRedis(t)
		return goRedisSubject{c, []io.Closer{c}}, nil
	},
}

var goRedisAuto = entry{
	name: "go-redis auto", module: goRedisModule, safest: goRedisSafest,
	open: func(t target) (Subject, error) {
		return goRedisPipelined(t, redis.DefaultBlockingAutoPipelineOptions())
	},
}

var goRedisDuplex = entry{
	name: "go-redis duplex", module: goRedisModule, safest: goRedisSafest,
	open: func(t target) (Subject, error) {
		opts := redis.DefaultBlockingAutoPipelineOptions()
		opts.FullDuplex = true
		return goRedisPipelined(t, opts)
	},
}

func goRedis(t target) redis.UniversalClient {
	if len(t.Sentinels) > 0 {
		opts := &redis.FailoverOptions{MasterName: masterName, SentinelAddrs: t.Sentinels}
		if t.Safest {
			opts.MaxRetries, opts.ContextTimeoutEnabled = -1, true
			opts.DialTimeout, opts.ReadTimeout, opts.WriteTimeout = time.Second, time.Second, time.Second
		}
		return redis.NewFailoverClient(opts)
	}
	opts := &redis.Options{Addr: t.Addr}
	if t.Safest {
		opts.MaxRetries, opts.ContextTimeoutEnabled = -1, true
		opts.DialTimeout, opts.ReadTimeout, opts.WriteTimeout = time.Second, time.Second, time.Second
	}
	return redis.NewClient(opts)
}

func goRedisPipelined(t target, opts *redis.AutoPipelineOptions) (Subject, error) {
	base := goRedis(t)
	p, err := base.(interface {
		AutoPipelineWithOptions(*redis.AutoPipelineOptions) (*redis.AutoPipeliner, error)
	}).AutoPipelineWithOptions(opts)
	if err != nil {
		return nil, errors.Join(err, base.Close())
	}
	return goRedisSubject{p, []io.Closer{p, base}}, nil
}

type goRedisSubject struct {
	c interface {
		Process(context.Context, redis.Cmder) error
	}
	closers []io.Closer
}

// Do calls Process, because AutoPipeliner.Do would run outside the pipeline.
func (s goRedisSubject) Do(ctx context.Context, args ...string) (any, error) {
	cmd := redis.NewCmd(ctx, anys(args)...)
	_ = s.c.Process(ctx, cmd) // cmd contains the error, too
	res, err := cmd.Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return normal(res), err
}

func (s goRedisSubject) Close() {
	for _, c := range s.closers {
		_ = c.Close()
	}
}
