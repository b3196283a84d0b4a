package redisgocache

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/eko/gocache/lib/v4/cache"
	"github.com/eko/gocache/lib/v4/store"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache"
	"github.com/joomcode/redispipe/redistest"
	"github.com/joomcode/redispipe/redistest/memserver"
)

func opened(t *testing.T, server *memserver.Server) *redispipe.Client {
	t.Helper()
	db, err := redispipe.Open(context.Background(), "redis://"+server.Addr(), redispipe.Logger(nil))
	require.NoError(t, err)
	t.Cleanup(db.Close)
	return db
}

// TestCache has the same cases as the tests of gocache's own store for Redis.
func TestCache(t *testing.T) {
	recorder := redistest.NewRecorder(opened(t, memserver.Strict(t)))
	pages := cache.New[string](New[string](recorder, store.WithExpiration(time.Hour)))
	ctx := t.Context()

	_, err := pages.Get(ctx, "a")
	require.ErrorIs(t, err, store.NotFound{})
	require.ErrorIs(t, err, redis.Nil)
	_, _, err = pages.GetWithTTL(ctx, "a")
	require.ErrorIs(t, err, store.NotFound{})

	require.NoError(t, pages.Set(ctx, "a", "one"))
	require.NoError(t, pages.Set(ctx, "a", "two", store.WithExpiration(2*time.Hour)))
	got, left, err := pages.GetWithTTL(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, "two", got)
	require.Greater(t, left, time.Hour)
	require.LessOrEqual(t, left, 2*time.Hour)
	require.NoError(t, pages.Set(ctx, "a", "three", store.WithExpiration(0)))
	got, left, err = pages.GetWithTTL(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, "three", got)
	require.Zero(t, left)
	require.NoError(t, pages.Set(ctx, "a", "four", store.WithExpiration(time.Nanosecond)))
	require.Equal(t, [][]string{
		{"SET", "a", "one", "PX", "3600000"}, {"SET", "a", "two", "PX", "7200000"},
		{"SET", "a", "three"}, {"SET", "a", "four", "PX", "1"},
	}, slices.DeleteFunc(recorder.Requests(), func(r []string) bool { return r[0] != "SET" }))

	require.NoError(t, pages.Delete(ctx, "a"))
	require.NoError(t, pages.Delete(ctx, "a"))
	_, err = pages.Get(ctx, "a")
	require.ErrorIs(t, err, store.NotFound{})
}

func TestTags(t *testing.T) {
	server := memserver.Strict(t)
	recorder := redistest.NewRecorder(opened(t, server))
	s := New[string](recorder)
	ctx := t.Context()
	for i := range page + 1 {
		require.NoError(t, s.Set(ctx, fmt.Sprint("key", i), "value", store.WithTags([]string{"tag"})))
	}
	require.Contains(t, recorder.Requests(), []string{"PEXPIRE", "gocache_tag_tag", fmt.Sprint(tagsTTL.Milliseconds())})
	require.NoError(t, s.Set(ctx, "key0", "value", store.WithTags([]string{"tag", "other"}), store.WithTagsTTL(time.Hour)))
	require.NoError(t, s.Set(ctx, "untagged", "value"))
	require.Contains(t, recorder.Requests(), []string{"PEXPIRE", "gocache_tag_other", "3600000"})

	require.NoError(t, s.Invalidate(ctx, store.WithInvalidateTags([]string{"none", "tag"})))
	require.Equal(t, []string{"gocache_tag_other", "untagged"}, server.Miniredis().Keys())
}

// Clear deletes the keys with the prefix of the Sender, and no others.
func TestClear(t *testing.T) {
	server := memserver.Strict(t)
	db := opened(t, server)
	s := New[string](redis.WithPrefix(db, "pages:"))
	for i := range page + 1 {
		require.NoError(t, s.Set(t.Context(), fmt.Sprint("key", i), "value"))
	}
	require.NoError(t, redis.Err(db.Do(t.Context(), "SET", "other", "value")))
	require.NoError(t, s.Clear(t.Context()))
	require.Equal(t, []string{"other"}, server.Miniredis().Keys())
	require.NoError(t, New[string](db).Clear(t.Context()))
	require.Empty(t, server.Miniredis().Keys())
}

// A cache of each type returns the values that were stored. Set refuses a value of another type.
func TestTypes(t *testing.T) {
	db := opened(t, memserver.Strict(t))
	returns(t, db, []byte("bytes\x00"))
	returns(t, db, "text")
	returns(t, db, int64(-3))
	returns(t, db, 0.1)
	returns(t, db, true)
	returns(t, db, false)

	s := New[string](redistest.NewMock(t))
	require.ErrorIs(t, s.Set(t.Context(), "a", 1), ErrType)
	require.ErrorIs(t, s.Set(t.Context(), 1, "a"), ErrType)
	require.ErrorIs(t, s.Delete(t.Context(), nil), ErrType)
	_, err := s.Get(t.Context(), 1)
	require.ErrorIs(t, err, ErrType)
	_, _, err = s.GetWithTTL(t.Context(), 1)
	require.ErrorIs(t, err, ErrType)
	require.ErrorIs(t, s.Set(t.Context(), "a", "b", store.WithExpiration(-1)), ErrExpiration)
}

func returns[T redis.Scalar](t *testing.T, db redis.Sender, value T) {
	t.Helper()
	c := cache.New[T](New[T](db))
	require.NoError(t, c.Set(t.Context(), struct{ ID int }{7}, value))
	got, err := c.Get(t.Context(), struct{ ID int }{7})
	require.NoError(t, err)
	require.Equal(t, value, got)
}

// If a value may have been stored or deleted, or a tag was not stored, the caller gets an error that says so.
func TestErrors(t *testing.T) {
	mock := redistest.NewMock(t)
	mock.Expect("SET", "a", "b").Unknown()
	mock.Expect("SET", "a", "b").Reply("OK")
	mock.Expect("SADD", "gocache_tag_c", "a").ServerError("WRONGTYPE it is a list")
	mock.Expect("PEXPIRE", "gocache_tag_c", redistest.Any).Reply(1)
	mock.Expect("SMEMBERS", "gocache_tag_c").Reply(redistest.Bulks("a"))
	mock.Expect("UNLINK", "a").Unknown()
	mock.Expect("GET", "a").Reply([]byte("b"))
	mock.Expect("PTTL", "a").Reply(-2)
	s, ctx := New[string](mock), t.Context()
	require.ErrorIs(t, s.Set(ctx, "a", "b"), redis.ErrUnknown)
	require.ErrorIs(t, s.Set(ctx, "a", "b", store.WithTags([]string{"c"})), redis.ErrRefused)
	require.ErrorIs(t, s.Invalidate(ctx, store.WithInvalidateTags([]string{"c"})), redis.ErrUnknown)
	_, _, err := s.GetWithTTL(ctx, "a")
	require.ErrorIs(t, err, store.NotFound{})
}

// With a rediscache.Cache as the Sender, the second Get is answered from memory.
func TestMemory(t *testing.T) {
	server := memserver.New(t)
	server.Track()
	memory, err := rediscache.New(opened(t, server), rediscache.Opts{Prefixes: []string{""}})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return memory.Stats().Leases == 1 }, time.Minute, time.Millisecond)
	pages := cache.New[string](New[string](memory))
	require.NoError(t, pages.Set(t.Context(), "a", "one"))
	for range 3 {
		got, err := pages.Get(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, "one", got)
	}
	require.Equal(t, int64(1), memory.Stats().Misses)
	require.NoError(t, pages.Set(t.Context(), "a", "two"))
	got, err := pages.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "two", got)
}
