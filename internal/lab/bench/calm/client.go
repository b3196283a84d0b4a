package calm

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
)

// script pushes an id and counts it.
const script = `redis.call('RPUSH', KEYS[1], ARGV[1]) return redis.call('INCR', KEYS[2])`

// client is a client under test, at its defaults. Results are a string, an int64, nil, or an error.
type client interface {
	do(ctx context.Context, args ...string) any
	// batch sends commands together, and transact between MULTI and EXEC.
	batch(ctx context.Context, cmds [][]string) []any
	transact(ctx context.Context, cmds [][]string) ([]any, error)
	// run runs script.
	run(ctx context.Context, list, counter, id string) any
	close()
}

// servers are the addresses of what a client connects to: of a server, the nodes of a cluster, or sentinels.
type servers struct {
	kind  string // as in the scheme of a URL: redis, redis-cluster, redis-sentinel
	addrs []string
}

const masterName = "mymaster"

// url returns the URL for redispipe.Open.
func (s servers) url() string {
	url := s.kind + "://" + strings.Join(s.addrs, ",")
	if s.kind == "redis-sentinel" {
		url += "/" + masterName
	}
	return url
}

// quiet keeps the log for progress.
var quiet = redispipe.Logger(slog.New(slog.DiscardHandler))

var clients = []struct {
	name, module string
	open         func(servers) (client, error)
}{
	{"redispipe", "github.com/joomcode/redispipe", openRedispipe},
	{"go-redis", "github.com/redis/go-redis/v9", openGoRedis},
	{"rueidis", "github.com/redis/rueidis", openRueidis},
}

func anys(args []string) []any {
	out := make([]any, len(args))
	for i, a := range args {
		out[i] = a
	}
	return out
}

type pipe struct {
	c      *redispipe.Client
	script *redis.Script
}

func openRedispipe(at servers) (client, error) {
	c, err := redispipe.Open(context.Background(), at.url(), quiet)
	return pipe{c, redis.NewScript(script)}, err
}

func (p pipe) do(ctx context.Context, args ...string) any {
	return p.c.Do(ctx, args[0], anys(args[1:])...)
}

func requests(cmds [][]string) []redis.Request {
	reqs := make([]redis.Request, len(cmds))
	for i, c := range cmds {
		reqs[i] = redis.Req(c[0], anys(c[1:])...)
	}
	return reqs
}

func (p pipe) batch(ctx context.Context, cmds [][]string) []any {
	return p.c.DoMany(ctx, requests(cmds))
}

func (p pipe) transact(ctx context.Context, cmds [][]string) ([]any, error) {
	return p.c.Transact(ctx, requests(cmds))
}

func (p pipe) run(ctx context.Context, list, counter, id string) any {
	return p.script.Do(ctx, p.c, []string{list, counter}, id)
}

func (p pipe) close() { p.c.Close() }

type goRedis struct {
	c      goredis.UniversalClient
	script *goredis.Script
}

func openGoRedis(at servers) (client, error) {
	opts := &goredis.UniversalOptions{Addrs: at.addrs, IsClusterMode: at.kind == "redis-cluster"}
	if at.kind == "redis-sentinel" {
		opts.MasterName = masterName
	}
	return goRedis{goredis.NewUniversalClient(opts), goredis.NewScript(script)}, nil
}

func result(cmd goredis.Cmder) any {
	res, err := cmd.(*goredis.Cmd).Result()
	if errors.Is(err, goredis.Nil) {
		return nil
	}
	if err != nil {
		return err
	}
	return res
}

func (g goRedis) do(ctx context.Context, args ...string) any {
	return result(g.c.Do(ctx, anys(args)...))
}

func (g goRedis) batch(ctx context.Context, cmds [][]string) []any {
	return results(g.exec(ctx, g.c.Pipeline(), cmds))
}

func (g goRedis) exec(ctx context.Context, p goredis.Pipeliner, cmds [][]string) ([]goredis.Cmder, error) {
	out := make([]goredis.Cmder, len(cmds))
	for i, c := range cmds {
		out[i] = p.Do(ctx, anys(c)...)
	}
	_, err := p.Exec(ctx)
	return out, err
}

func results(cmds []goredis.Cmder, _ error) []any {
	out := make([]any, len(cmds))
	for i, c := range cmds {
		out[i] = result(c)
	}
	return out
}

func (g goRedis) transact(ctx context.Context, cmds [][]string) ([]any, error) {
	sent, err := g.exec(ctx, g.c.TxPipeline(), cmds)
	return results(sent, nil), err
}

func (g goRedis) run(ctx context.Context, list, counter, id string) any {
	return result(g.script.Run(ctx, g.c, []string{list, counter}, id))
}

func (g goRedis) close() { _ = g.c.Close() }

type rueidisClient struct {
	c      rueidis.Client
	script *rueidis.Lua
}

func openRueidis(at servers) (client, error) {
	opts := rueidis.ClientOption{InitAddress: at.addrs, ForceSingleClient: at.kind == "redis"}
	if at.kind == "redis-sentinel" {
		opts.Sentinel = rueidis.SentinelOption{MasterSet: masterName}
	}
	c, err := rueidis.NewClient(opts)
	return rueidisClient{c, rueidis.NewLuaScript(script)}, err
}

func value(res rueidis.RedisResult) any {
	v, err := res.ToAny()
	if rueidis.IsRedisNil(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return v
}

// command returns a command with its key, which is its second word.
func (r rueidisClient) command(args []string) rueidis.Completed {
	cmd := r.c.B().Arbitrary(args[0])
	if len(args) > 1 {
		cmd = cmd.Keys(args[1]).Args(args[2:]...)
	}
	if args[0] == "GET" {
		return cmd.ReadOnly()
	}
	return cmd.Build()
}

func (r rueidisClient) commands(cmds [][]string) []rueidis.Completed {
	out := make([]rueidis.Completed, len(cmds))
	for i, c := range cmds {
		out[i] = r.command(c)
	}
	return out
}

func (r rueidisClient) do(ctx context.Context, args ...string) any {
	return value(r.c.Do(ctx, r.command(args)))
}

func (r rueidisClient) batch(ctx context.Context, cmds [][]string) []any {
	out := make([]any, len(cmds))
	for i, res := range r.c.DoMulti(ctx, r.commands(cmds)...) {
		out[i] = value(res)
	}
	return out
}

// transact sends MULTI, the commands and EXEC over a connection of its own, as the documentation of rueidis advises.
func (r rueidisClient) transact(ctx context.Context, cmds [][]string) (out []any, err error) {
	err = r.c.Dedicated(func(d rueidis.DedicatedClient) error {
		all := append([]rueidis.Completed{r.c.B().Multi().Build()}, r.commands(cmds)...)
		got := d.DoMulti(ctx, append(all, r.c.B().Exec().Build())...)
		for _, res := range got[:len(got)-1] {
			if err := res.Error(); err != nil {
				return err
			}
		}
		values, err := got[len(got)-1].ToArray()
		for _, v := range values {
			res, err := v.ToAny()
			if err != nil {
				return err
			}
			out = append(out, res)
		}
		return err
	})
	return out, err
}

func (r rueidisClient) run(ctx context.Context, list, counter, id string) any {
	return value(r.script.Exec(ctx, r.c, []string{list, counter}, []string{id}))
}

func (r rueidisClient) close() { r.c.Close() }
