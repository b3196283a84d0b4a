// Package redisgocache is a store for the caches of [github.com/eko/gocache/lib/v4]:
//
//	pages := cache.New[string](redisgocache.New[string](client))
//
// The guide is docs/adapters.md.
package redisgocache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/eko/gocache/lib/v4/store"

	"github.com/joomcode/redispipe/redis"
)

var (
	// ErrType is returned for a key that is not a string, and by Set for a value that is not of the store's
	// type. Nothing was sent.
	ErrType = errors.New("redisgocache: wrong type")
	// ErrExpiration is returned by Set for a negative expiration. Nothing was sent.
	ErrExpiration = errors.New("redisgocache: negative expiration")
)

const (
	// tagPrefix is put before a tag. The set under this key holds the keys of the values that have the tag.
	// gocache's own store for Redis uses the same prefix.
	tagPrefix = "gocache_tag_"
	// tagsTTL is how long a tag lives after the last Set, without store.WithTagsTTL: as in gocache's own store.
	tagsTTL = 720 * time.Hour
	// page is how many keys Clear and Invalidate delete in one batch.
	page = 256
)

// Store keeps values of the type T, which must be the type of the gocache cache, as strings. It implements
// [store.StoreInterface], and is safe for concurrent use. It holds no resources: close the Sender instead.
//
// Errors are those of the Sender, except that a missing key is a [store.NotFound]. Every method may be
// called again after any error; if the error matches redis.ErrUnknown, the call may have had its effect.
type Store[T redis.Scalar] struct {
	db      redis.SyncCtx
	options *store.Options
}

var _ store.StoreInterface = (*Store[string])(nil)

// New returns a store. Its options are the defaults of Set. To share a database, pass the result of
// [redis.WithPrefix]; to answer reads from memory, pass a *rediscache.Cache.
func New[T redis.Scalar](s redis.Sender, options ...store.Option) *Store[T] {
	return &Store[T]{db: redis.SyncCtx{S: s}, options: store.ApplyOptions(options...)}
}

// GetType returns "redispipe".
func (s *Store[T]) GetType() string { return "redispipe" }

// Get returns a value of the type T, or a [store.NotFound].
func (s *Store[T]) Get(ctx context.Context, key any) (any, error) {
	name, err := text(key)
	if err != nil {
		return nil, err
	}
	return value[T](s.db.Do(ctx, "GET", name))
}

// GetWithTTL returns a value and the time until it expires; the time is 0 if it does not expire.
func (s *Store[T]) GetWithTTL(ctx context.Context, key any) (any, time.Duration, error) {
	name, err := text(key)
	if err != nil {
		return nil, 0, err
	}
	results := s.db.SendMany(ctx, []redis.Request{redis.Req("GET", name), redis.Req("PTTL", name)})
	v, err := value[T](results[0])
	if err != nil {
		return nil, 0, err
	}
	left, err := redis.As[redis.Milliseconds](results[1])
	switch {
	case err != nil:
		return nil, 0, err
	case left == redis.Milliseconds(-2*time.Millisecond): // the value has expired between the two requests
		return nil, 0, store.NotFoundWithCause(redis.Nil)
	}
	return v, max(0, time.Duration(left)), nil
}

// Set stores a value. It respects [store.WithExpiration], in milliseconds, [store.WithTags] and
// [store.WithTagsTTL]; without an expiration the value is kept until it is deleted. If the error is
// about a tag, the value may be stored, and Invalidate may not find it.
func (s *Store[T]) Set(ctx context.Context, key, value any, options ...store.Option) error {
	name, err := text(key)
	if err != nil {
		return err
	}
	if _, ok := value.(T); !ok {
		return fmt.Errorf("%w: the value is a %T, not a %T", ErrType, value, *new(T))
	}
	opts := store.ApplyOptionsWithDefault(s.options, options...)
	if opts.Expiration < 0 || opts.TagsTTL < 0 {
		return ErrExpiration
	}
	set := redis.Req("SET", name, value)
	if opts.Expiration > 0 {
		set = redis.Req("SET", name, value, "PX", max(1, opts.Expiration.Milliseconds()))
	}
	reqs := []redis.Request{set}
	keep := max(1, opts.TagsTTL.Milliseconds())
	if opts.TagsTTL == 0 {
		keep = tagsTTL.Milliseconds()
	}
	for _, tag := range opts.Tags {
		reqs = append(reqs, redis.Req("SADD", tagPrefix+tag, name), redis.Req("PEXPIRE", tagPrefix+tag, keep))
	}
	return redis.FirstError(s.db.SendMany(ctx, reqs))
}

// Delete deletes a value, if there is one.
func (s *Store[T]) Delete(ctx context.Context, key any) error {
	name, err := text(key)
	if err != nil {
		return err
	}
	return redis.Err(s.db.Do(ctx, "UNLINK", name))
}

// Invalidate deletes the values with any of the tags of [store.WithInvalidateTags]. After an error a second
// call deletes the values that are left.
func (s *Store[T]) Invalidate(ctx context.Context, options ...store.InvalidateOption) error {
	for _, tag := range store.ApplyInvalidateOptions(options...).Tags {
		keys, err := redis.As[[]string](s.db.Do(ctx, "SMEMBERS", tagPrefix+tag))
		if err != nil {
			return err
		}
		for keys := range slices.Chunk(keys, page) {
			if err := s.untag(ctx, tagPrefix+tag, keys); err != nil {
				return err
			}
		}
	}
	return nil
}

// untag deletes values and then removes their keys from the set of the tag. If a value was stored again in
// between, its key is no longer in the set, and no later call would find it. So untag then deletes the values
// again.
func (s *Store[T]) untag(ctx context.Context, set string, keys []string) error {
	if err := s.unlink(ctx, keys); err != nil {
		return err
	}
	if err := redis.Err(s.db.Do(ctx, "SREM", append([]any{set}, redis.Args(keys)...)...)); err != nil {
		return err
	}
	return s.unlink(ctx, keys)
}

// Clear deletes all keys that the Sender can see: the whole database, unless the Sender has a prefix. It
// iterates over them with SCAN, so it may miss values that are stored at the same time.
func (s *Store[T]) Clear(ctx context.Context) error {
	var keys []string
	for key, err := range redis.Keys(ctx, s.db.S, redis.ScanOpts{Count: page}) {
		if err != nil {
			return err
		}
		if keys = append(keys, key); len(keys) < page {
			continue
		}
		if err := s.unlink(ctx, keys); err != nil {
			return err
		}
		keys = keys[:0]
	}
	return s.unlink(ctx, keys)
}

// unlink deletes keys, each with its own request, because in a cluster they are on several servers.
func (s *Store[T]) unlink(ctx context.Context, keys []string) error {
	reqs := make([]redis.Request, len(keys))
	for i, key := range keys {
		reqs[i] = redis.Req("UNLINK", key)
	}
	return redis.FirstError(s.db.SendMany(ctx, reqs))
}

// text returns a key as gocache's caches pass it.
func text(key any) (string, error) {
	if s, ok := key.(string); ok {
		return s, nil
	}
	return "", fmt.Errorf("%w: the key is a %T, not a string", ErrType, key)
}

// value returns the reply to GET as a T.
func value[T redis.Scalar](res any) (any, error) {
	if res == nil {
		return nil, store.NotFoundWithCause(redis.Nil)
	}
	v, err := redis.As[T](res)
	if err != nil {
		return nil, err
	}
	return v, nil
}
