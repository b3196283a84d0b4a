package main

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

type goRedis struct{ *redis.Client }

// quiet is a logger that writes nothing.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func openGoRedis(ctx context.Context, to target) (client, error) {
	o := &redis.Options{Addr: to.addr, TLSConfig: to.tls}
	if to.plain {
		o.Protocol, o.DisableIdentity = 2, true
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	}
	g := goRedis{redis.NewClient(o)}
	if err := g.Ping(ctx).Err(); err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

func (g goRedis) do(ctx context.Context, args ...any) (any, error) {
	res, err := g.Do(ctx, args...).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil //nolint:nilnil // the result is null
	}
	return res, err
}

func (g goRedis) many(ctx context.Context, reqs [][]any) ([]any, error) {
	return results(g.Pipelined(ctx, queue(ctx, reqs)))
}

func (g goRedis) transact(ctx context.Context, reqs [][]any) ([]any, error) {
	return results(g.TxPipelined(ctx, queue(ctx, reqs)))
}

func queue(ctx context.Context, reqs [][]any) func(redis.Pipeliner) error {
	return func(p redis.Pipeliner) error {
		for _, r := range reqs {
			p.Do(ctx, r...)
		}
		return nil
	}
}

func results(cmds []redis.Cmder, err error) ([]any, error) {
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	all := make([]any, len(cmds))
	for i, cmd := range cmds {
		all[i] = cmd.(*redis.Cmd).Val()
	}
	return all, nil
}

func (g goRedis) script(ctx context.Context, src, key string, arg any) (any, error) {
	return redis.NewScript(src).Run(ctx, g, []string{key}, arg).Result()
}

func (g goRedis) pop(ctx context.Context, key string, seconds int) (any, error) {
	return g.do(ctx, "BLPOP", key, seconds)
}

func (g goRedis) increment(ctx context.Context, key string) error {
	for {
		err := g.Watch(ctx, func(tx *redis.Tx) error {
			n, err := tx.Get(ctx, key).Int()
			if err != nil && !errors.Is(err, redis.Nil) {
				return err
			}
			_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, key, n+1, 0).Err() })
			return err
		}, key)
		if !errors.Is(err, redis.TxFailedErr) {
			return err
		}
	}
}

func (g goRedis) subscribe(ctx context.Context, channel string, f func(string)) error {
	s := g.Subscribe(ctx, channel)
	if _, err := s.Receive(ctx); err != nil {
		_ = s.Close()
		return err
	}
	go func() { // ends with ctx
		defer func() { _ = s.Close() }()
		for {
			m, err := s.ReceiveMessage(ctx)
			if err != nil {
				return
			}
			f(m.Payload)
		}
	}()
	return nil
}

func (g goRedis) outcome(err error) outcome {
	var says redis.Error
	switch {
	case err == nil:
		return value
	case errors.As(err, &says):
		return refused
	}
	return unknown
}

func (g goRedis) close() { _ = g.Close() }
