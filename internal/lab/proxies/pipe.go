package main

import (
	"context"
	"log/slog"
	"net/url"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
)

// pipe is this library, without options that depend on the proxy.
type pipe struct{ *redispipe.Client }

func openPipe(ctx context.Context, to target) (client, error) {
	at := url.URL{Scheme: "redis", Host: to.addr}
	if to.tls != nil {
		at.Scheme = "rediss"
	}
	if to.role {
		at.Scheme = "redis-replicated"
	}
	if to.sentinels {
		at.Scheme, at.Path = "redis-sentinel", "/mymaster"
	}
	tune := func(o *redisconn.Opts) {
		o.TLSConfig, o.Heartbeat = to.tls, to.heartbeat
		if to.hidden != nil {
			o.Dialer = to.dial
		}
	}
	c, err := redispipe.Open(ctx, at.String(), redispipe.Logger(slog.New(slog.DiscardHandler)), redispipe.Conn(tune),
		redispipe.Cluster(func(o *rediscluster.Opts) { tune(&o.SentinelOpts) }))
	if err != nil {
		return nil, err
	}
	return pipe{c}, nil
}

func requests(reqs [][]any) []redis.Request {
	all := make([]redis.Request, len(reqs))
	for i, r := range reqs {
		all[i] = redis.Req(r[0].(string), r[1:]...)
	}
	return all
}

// plain returns a result with strings in place of byte slices.
func plain(res any) any {
	switch res := res.(type) {
	case []byte:
		return string(res)
	case []any:
		for i, el := range res {
			res[i] = plain(el)
		}
	}
	return res
}

func (p pipe) do(ctx context.Context, args ...any) (any, error) {
	res := p.Do(ctx, args[0].(string), args[1:]...)
	return plain(res), redis.AsError(res)
}

func (p pipe) many(ctx context.Context, reqs [][]any) ([]any, error) {
	results := p.DoMany(ctx, requests(reqs))
	plain(results)
	return results, redis.FirstError(results)
}

func (p pipe) transact(ctx context.Context, reqs [][]any) ([]any, error) {
	results, err := p.Transact(ctx, requests(reqs))
	plain(results)
	return results, err
}

func (p pipe) script(ctx context.Context, src, key string, arg any) (any, error) {
	res := redis.NewScript(src).Do(ctx, p.Client, []string{key}, arg)
	return plain(res), redis.AsError(res)
}

func (p pipe) pop(ctx context.Context, key string, seconds int) (any, error) {
	return p.do(ctx, "BLPOP", key, seconds)
}

func (p pipe) increment(ctx context.Context, key string) error {
	_, err := p.Watch(ctx, []string{key}, func(tx *redis.Tx) error {
		var n int
		if err := tx.DoInto(&n, "GET", key); err != nil {
			return err
		}
		tx.Queue("SET", key, n+1)
		return nil
	})
	return err
}

func (p pipe) subscribe(ctx context.Context, channel string, f func(string)) error {
	s := p.Subscriber().NewSubscription(redispubsub.SubscriptionOpts{})
	if err := s.Subscribe(ctx, redispubsub.Channel(channel)); err != nil {
		s.Close()
		return err
	}
	go func() { // ends with ctx
		defer s.Close()
		for ev, err := range s.Events(ctx) {
			if m, ok := ev.(redispubsub.Message); err == nil && ok {
				f(string(m.Payload))
			}
		}
	}()
	return nil
}

func (p pipe) outcome(err error) outcome { return outcome(redis.OutcomeOf(err)) }

func (p pipe) close() { p.Close() }
