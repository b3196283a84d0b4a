// Package redisfiber is a storage for [github.com/gofiber/fiber/v3] and its middlewares: sessions, cache, limiter, CSRF and others:
//
//	app.Use(session.New(session.Config{Storage: redisfiber.New(client)}))
//
// It also fits fiber v2. The guide is docs/adapters.md.
package redisfiber

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/redis"
)

// page is how many keys Reset deletes in one batch.
const page = 256

// Storage keeps values as strings. It implements fiber's Storage, and is safe for concurrent use.
//
// Errors are those of the Sender. Every method may be called again after any error. If a write returns
// an error that matches redis.ErrUnknown, it may have had its effect.
type Storage struct{ db redis.SyncCtx }

// New returns a storage. To share a database, or to use one for several middlewares, pass the result of
// [redis.WithPrefix]; to answer reads from memory, pass a *rediscache.Cache.
func New(s redis.Sender) *Storage { return &Storage{db: redis.SyncCtx{S: s}} }

// GetWithContext returns a value, or nil if there is none.
func (s *Storage) GetWithContext(ctx context.Context, key string) ([]byte, error) {
	if key == "" {
		return nil, nil
	}
	return redis.As[[]byte](s.db.Do(ctx, "GET", key))
}

// SetWithContext stores a value for the time exp, rounded to milliseconds. With 0 the value stays until it is
// deleted. A negative time deletes the value. An empty key or value is ignored.
func (s *Storage) SetWithContext(ctx context.Context, key string, val []byte, exp time.Duration) error {
	switch {
	case key == "" || len(val) == 0:
		return nil
	case exp < 0:
		return s.DeleteWithContext(ctx, key)
	case exp == 0:
		return redis.Err(s.db.Do(ctx, "SET", key, val))
	}
	return redis.Err(s.db.Do(ctx, "SET", key, val, "PX", max(1, exp.Milliseconds())))
}

// DeleteWithContext deletes a value, if there is one.
func (s *Storage) DeleteWithContext(ctx context.Context, key string) error {
	if key == "" {
		return nil
	}
	return redis.Err(s.db.Do(ctx, "UNLINK", key))
}

// ResetWithContext deletes all keys that the Sender can see: the whole database, unless the Sender has a
// prefix. It iterates over them with SCAN, so it may miss values that are stored at the same time.
func (s *Storage) ResetWithContext(ctx context.Context) error {
	var reqs []redis.Request
	for key, err := range redis.Keys(ctx, s.db.S, redis.ScanOpts{Count: page}) {
		if err != nil {
			return err
		}
		if reqs = append(reqs, redis.Req("UNLINK", key)); len(reqs) < page {
			continue
		}
		if err := redis.FirstError(s.db.SendMany(ctx, reqs)); err != nil {
			return err
		}
		reqs = reqs[:0]
	}
	return redis.FirstError(s.db.SendMany(ctx, reqs))
}

// Get is GetWithContext without a context.
func (s *Storage) Get(key string) ([]byte, error) {
	return s.GetWithContext(context.Background(), key)
}

// Set is SetWithContext without a context.
func (s *Storage) Set(key string, val []byte, exp time.Duration) error {
	return s.SetWithContext(context.Background(), key, val, exp)
}

// Delete is DeleteWithContext without a context.
func (s *Storage) Delete(key string) error { return s.DeleteWithContext(context.Background(), key) }

// Reset is ResetWithContext without a context.
func (s *Storage) Reset() error { return s.ResetWithContext(context.Background()) }

// Close does nothing: the storage has no resources. Close the Sender when nobody uses it anymore.
func (s *Storage) Close() error { return nil }
