package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redis/redis_rate/v10"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidisaside"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/contrib/redisrecipes/aside"
	"github.com/joomcode/redispipe/contrib/redisrecipes/limit"
	"github.com/joomcode/redispipe/contrib/redisrecipes/lock"
	"github.com/joomcode/redispipe/rediscache"
)

// key returns a separate key for each caller if each is set, and otherwise the same key for all.
func key(each bool, caller int) string {
	if each {
		return fmt.Sprint("key:", caller)
	}
	return "key"
}

var errRefused = errors.New("refused within the limit")

func limits(ours *redispipe.Client, theirs *redis.Client) (all []contest) {
	limiter, err := limit.New(ours, limit.Opts{Rate: limit.Rate{Count: 1e9, Per: time.Hour}, Timeout: time.Minute})
	check(err)
	batches, err := limit.New(ours, limit.Opts{
		Rate: limit.Rate{Count: 1e9, Per: time.Hour}, Prefix: "batches:", Batch: 100, Timeout: time.Minute,
	})
	check(err)
	rate := redis_rate.NewLimiter(theirs)
	for _, each := range []bool{false, true} {
		all = append(all, contest{fmt.Sprintf("limit, 128 callers, %s", keys(each)), 128, []side{
			{"redisrecipes", func(ctx context.Context, caller int) error {
				d, err := limiter.Allow(ctx, key(each, caller))
				return refused(d.Allowed, errors.Join(err, d.Unavailable))
			}},
			{"… with Batch", func(ctx context.Context, caller int) error {
				d, err := batches.Allow(ctx, key(each, caller))
				return refused(d.Allowed, errors.Join(err, d.Unavailable))
			}},
			{"redis_rate", func(ctx context.Context, caller int) error {
				r, err := rate.Allow(ctx, key(each, caller), redis_rate.Limit{Rate: 1e9, Burst: 1e9, Period: time.Hour})
				return refused(err != nil || r.Allowed > 0, err)
			}},
		}})
	}
	return all
}

func refused(allowed bool, err error) error {
	if err == nil && !allowed {
		return errRefused
	}
	return err
}

func keys(each bool) string {
	if each {
		return "a key each"
	}
	return "one key"
}

func locks(ours *redispipe.Client, theirs *redis.Client) (all []contest) {
	locker, err := lock.New(ours, lock.Opts{})
	check(err)
	fair, err := lock.New(ours, lock.Opts{Fair: true, Prefix: "fair:"})
	check(err)
	sync, simple := redsync.New(goredis.NewPool(theirs)), redislock.New(theirs)
	wait := &redislock.Options{RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)}
	for _, each := range []bool{true, false} {
		all = append(all, contest{fmt.Sprintf("lock and unlock, 16 callers, %s", keys(each)), 16, []side{
			{"redisrecipes", func(ctx context.Context, caller int) error {
				l, err := locker.Lock(ctx, key(each, caller))
				if err != nil {
					return err
				}
				return l.Unlock(ctx)
			}},
			{"… with Fair", func(ctx context.Context, caller int) error {
				l, err := fair.Lock(ctx, key(each, caller))
				if err != nil {
					return err
				}
				return l.Unlock(ctx)
			}},
			{"redsync", func(ctx context.Context, caller int) error {
				m := sync.NewMutex("sync:"+key(each, caller), redsync.WithTries(1000))
				if err := m.LockContext(ctx); err != nil {
					return err
				}
				_, err := m.UnlockContext(ctx)
				return err
			}},
			{"redislock", func(ctx context.Context, caller int) error {
				l, err := simple.Obtain(ctx, "simple:"+key(each, caller), 10*time.Second, wait)
				if err != nil {
					return err
				}
				return l.Release(ctx)
			}},
		}})
	}
	return all
}

// load stands for a loader that takes 50 ms. It returns early if its context ends.
func load(ctx context.Context) (string, error) {
	select {
	case <-time.After(50 * time.Millisecond):
		return "value", nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func openAside(addr string) rueidisaside.CacheAsideClient {
	c, err := rueidisaside.NewClient(rueidisaside.ClientOption{ClientOption: rueidis.ClientOption{InitAddress: []string{addr}}})
	check(err)
	return c
}

func asides(ours *redispipe.Client, addr string) []contest {
	memory, err := rediscache.New(ours, rediscache.Opts{Prefixes: []string{"aside:"}})
	check(err)
	plain, err := aside.New(ours, aside.Opts{TTL: time.Hour})
	check(err)
	cache, err := aside.New(ours, aside.Opts{TTL: time.Hour, Memory: memory})
	check(err)
	theirs := openAside(addr)
	get := func(c *aside.Cache) func(context.Context, int) error {
		return func(ctx context.Context, _ int) error {
			_, err := c.Get(ctx, "a", func(ctx context.Context) ([]byte, error) {
				v, err := load(ctx)
				return []byte(v), err
			})
			return err
		}
	}
	return []contest{{"cache-aside, 128 callers, entry is there", 128, []side{
		{"GET alone", func(ctx context.Context, _ int) error {
			var raw []byte
			return ours.DoInto(ctx, &raw, "GET", "aside:{a}")
		}},
		{"redisrecipes", get(plain)},
		{"… with Memory", get(cache)},
		{"rueidisaside", func(ctx context.Context, _ int) error {
			_, err := theirs.Get(ctx, time.Hour, "b", func(ctx context.Context, _ string) (string, error) { return load(ctx) })
			return err
		}},
	}}}
}

// cancelled prints how long callers wait for an entry if the caller that began to load it leaves after 20 ms. They
// use another client, and wait for at most 3 s.
func cancelled(ours *redispipe.Client, addr string) {
	cache, err := aside.New(ours, aside.Opts{TTL: time.Hour, RetryAfter: time.Millisecond})
	check(err)
	first, second := openAside(addr), openAside(addr)
	for range rounds {
		key := fmt.Sprint("left:", time.Now().UnixNano())
		waited("redisrecipes", func(ctx context.Context, _ bool) error {
			_, err := cache.Get(ctx, key, func(ctx context.Context) ([]byte, error) {
				v, err := load(ctx)
				return []byte(v), err
			})
			return err
		})
		waited("rueidisaside", func(ctx context.Context, leaves bool) error {
			client := second
			if leaves {
				client = first
			}
			_, err := client.Get(ctx, time.Hour, "theirs:"+key, func(ctx context.Context, _ string) (string, error) { return load(ctx) })
			return err
		})
	}
}

func waited(name string, get func(ctx context.Context, leaves bool) error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	_ = get(ctx, true)
	cancel()
	began := time.Now()
	ctx, cancel = context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	err := get(ctx, false)
	fmt.Printf("%-40s %-14s %v, error %v\n", "cache-aside, the loading caller leaves", name, time.Since(began).Round(time.Millisecond), err)
}
