package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/rueidis"
)

type ruei struct{ rueidis.Client }

func openRueidis(_ context.Context, to target) (client, error) {
	o := rueidis.ClientOption{InitAddress: []string{to.addr}, TLSConfig: to.tls, ForceSingleClient: true}
	if to.plain {
		o.AlwaysRESP2, o.DisableCache, o.ClientSetInfo = true, true, rueidis.DisableClientSetInfo
	}
	c, err := rueidis.NewClient(o)
	if err != nil {
		return nil, err
	}
	return ruei{c}, nil
}

func (r ruei) command(args []any) rueidis.Completed {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = fmt.Sprint(a)
	}
	return r.B().Arbitrary(words...).Build()
}

// unwrapped returns a result with the types that the features expect.
func unwrapped(res rueidis.RedisResult) (any, error) {
	got, err := res.ToAny()
	if rueidis.IsRedisNil(err) {
		return nil, nil //nolint:nilnil // the result is null
	}
	return got, err
}

func (r ruei) do(ctx context.Context, args ...any) (any, error) {
	return unwrapped(r.Do(ctx, r.command(args)))
}

func (r ruei) many(ctx context.Context, reqs [][]any) ([]any, error) {
	cmds := make([]rueidis.Completed, len(reqs))
	for i, req := range reqs {
		cmds[i] = r.command(req)
	}
	all := make([]any, len(reqs))
	for i, res := range r.DoMulti(ctx, cmds...) {
		got, err := unwrapped(res)
		if err != nil {
			return nil, err
		}
		all[i] = got
	}
	return all, nil
}

func (r ruei) transact(ctx context.Context, reqs [][]any) ([]any, error) {
	all := append([][]any{{"MULTI"}}, reqs...)
	got, err := r.many(ctx, append(all, []any{"EXEC"}))
	if err != nil {
		return nil, err
	}
	results, ok := got[len(got)-1].([]any)
	if !ok {
		return nil, fmt.Errorf("EXEC returned %v", got[len(got)-1])
	}
	return results, nil
}

func (r ruei) script(ctx context.Context, src, key string, arg any) (any, error) {
	return unwrapped(rueidis.NewLuaScript(src).Exec(ctx, r, []string{key}, []string{fmt.Sprint(arg)}))
}

func (r ruei) pop(ctx context.Context, key string, seconds int) (any, error) {
	return unwrapped(r.Do(ctx, r.B().Blpop().Key(key).Timeout(float64(seconds)).Build()))
}

var errChanged = errors.New("a watched key was changed")

func (r ruei) increment(ctx context.Context, key string) error {
	for {
		err := r.Dedicated(func(c rueidis.DedicatedClient) error {
			if err := c.Do(ctx, c.B().Watch().Key(key).Build()).Error(); err != nil {
				return err
			}
			n, err := c.Do(ctx, c.B().Get().Key(key).Build()).AsInt64()
			if err != nil && !rueidis.IsRedisNil(err) {
				return err
			}
			for i, res := range c.DoMulti(ctx, c.B().Multi().Build(), c.B().Set().Key(key).Value(strconv.FormatInt(n+1, 10)).Build(), c.B().Exec().Build()) {
				if err := res.Error(); i == 2 && rueidis.IsRedisNil(err) {
					return errChanged
				} else if err != nil {
					return err
				}
			}
			return nil
		})
		if !errors.Is(err, errChanged) {
			return err
		}
	}
}

func (r ruei) subscribe(ctx context.Context, channel string, f func(string)) error {
	confirmed := make(chan error, 1)
	ctx = rueidis.WithOnSubscriptionHook(ctx, func(rueidis.PubSubSubscription) {
		select {
		case confirmed <- nil:
		default:
		}
	})
	go func() { // ends with ctx
		err := r.Receive(ctx, r.B().Subscribe().Channel(channel).Build(), func(m rueidis.PubSubMessage) { f(m.Message) })
		select {
		case confirmed <- err:
		default:
		}
	}()
	return <-confirmed
}

func (r ruei) outcome(err error) outcome {
	_, says := rueidis.IsRedisErr(err)
	switch {
	case err == nil:
		return value
	case says:
		return refused
	}
	return unknown
}

func (r ruei) close() { r.Close() }
