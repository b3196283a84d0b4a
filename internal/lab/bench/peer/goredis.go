package peer

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

const goRedisModule = "github.com/redis/go-redis/v9"

var goRedisPool = Driver{
	Name: "go-redis", Module: goRedisModule, How: "pool, default options", Pipelines: true, Serves: true,
	Open: func(o Options) (Client, error) {
		c := goRedis(o)
		return &goRedisClient{cmd: c, close: c.Close}, nil
	},
}

var goRedisAuto = Driver{
	Name: "go-redis auto", Module: goRedisModule, Shared: true, Serves: true,
	How:  "AutoPipeline, its default options (ordered)",
	Open: func(o Options) (Client, error) { return openAutoPipeline(o, nil) },
}

var goRedisParallel = Driver{
	Name: "go-redis auto ‖", Module: goRedisModule, Shared: true, Serves: true,
	How: "AutoPipeline, MaxBatchSize 300, MaxConcurrentBatches 80, Unordered: the options of its own benchmark",
	Open: func(o Options) (Client, error) {
		return openAutoPipeline(o, &redis.AutoPipelineOptions{
			MaxBatchSize: 300, MaxConcurrentBatches: 80, Unordered: true,
		})
	},
}

var goRedisDuplex = Driver{
	Name: "go-redis duplex", Module: goRedisModule, Shared: true, Serves: true,
	How: "AutoPipeline with FullDuplex, otherwise its default options",
	Open: func(o Options) (Client, error) {
		opts := redis.DefaultBlockingAutoPipelineOptions()
		opts.FullDuplex = true
		return openAutoPipeline(o, opts)
	},
}

// goRedis returns a client with default options: 10 connections for each processor.
func goRedis(o Options) redis.UniversalClient {
	if o.Cluster {
		return redis.NewClusterClient(&redis.ClusterOptions{Addrs: o.Addrs, TLSConfig: o.TLS})
	}
	return redis.NewClient(&redis.Options{Addr: o.Addrs[0], TLSConfig: o.TLS})
}

// autoPipelined has the methods that both kinds of client have and UniversalClient lacks.
type autoPipelined interface {
	AutoPipeline() (*redis.AutoPipeliner, error)
	AutoPipelineWithOptions(*redis.AutoPipelineOptions) (*redis.AutoPipeliner, error)
}

// errNoDuplex is returned if the client falls back to another mode, so that no mode is measured
// under a wrong name.
var errNoDuplex = errors.New("full duplex was asked for and is not in effect")

func openAutoPipeline(o Options, opts *redis.AutoPipelineOptions) (Client, error) {
	base := goRedis(o)
	auto := base.(autoPipelined)
	var p *redis.AutoPipeliner
	var err error
	if opts == nil {
		p, err = auto.AutoPipeline()
	} else {
		p, err = auto.AutoPipelineWithOptions(opts)
	}
	if err == nil && opts != nil && opts.FullDuplex && !p.Config().FullDuplex {
		err = errNoDuplex
	}
	if err != nil {
		return nil, errors.Join(err, base.Close())
	}
	return &goRedisClient{cmd: p, close: func() error {
		return errors.Join(p.Close(), base.Close())
	}}, nil
}

type goRedisClient struct {
	cmd   redis.Cmdable
	close func() error
}

func (c *goRedisClient) Set(ctx context.Context, key string, value []byte) error {
	return c.cmd.Set(ctx, key, value, 0).Err()
}

func (c *goRedisClient) Get(ctx context.Context, key string) ([]byte, error) {
	return c.cmd.Get(ctx, key).Bytes()
}

func (c *goRedisClient) Pipeline(ctx context.Context, keys []string, value []byte) (int, error) {
	p := c.cmd.Pipeline()
	gets := make([]*redis.StringCmd, len(keys))
	for i, k := range keys {
		p.Set(ctx, k, value, 0)
		gets[i] = p.Get(ctx, k)
	}
	if _, err := p.Exec(ctx); err != nil {
		return 0, err
	}
	right := 0
	for _, g := range gets {
		if len(g.Val()) == len(value) {
			right += 2
		}
	}
	return right, nil
}

func (c *goRedisClient) Push(ctx context.Context, list string, job []byte) error {
	return c.cmd.RPush(ctx, list, job).Err()
}

func (c *goRedisClient) Pop(ctx context.Context, list string) ([]byte, error) {
	popped, err := c.cmd.BLPop(ctx, popTimeout, list).Result()
	if err != nil {
		return nil, err
	}
	return []byte(popped[1]), nil
}

var goRedisLimiter = redis.NewScript(limiterScript)

func (c *goRedisClient) Allow(ctx context.Context, key string, limit int) (bool, error) {
	return goRedisLimiter.Run(ctx, c.cmd, []string{key}, limit, limiterWindow).Bool()
}

func (c *goRedisClient) Score(ctx context.Context, board, player string, score float64) error {
	return c.cmd.ZAdd(ctx, board, redis.Z{Score: score, Member: player}).Err()
}

func (c *goRedisClient) Top(ctx context.Context, board string, n int) ([]string, error) {
	return c.cmd.ZRevRange(ctx, board, 0, int64(n-1)).Result()
}

func (c *goRedisClient) Close() { _ = c.close() }
