package redisfiber

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/session"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest"
	"github.com/joomcode/redispipe/redistest/memserver"
)

var _ fiber.Storage = (*Storage)(nil)

func opened(t *testing.T, server *memserver.Server) *redispipe.Client {
	t.Helper()
	db, err := redispipe.Open(context.Background(), "redis://"+server.Addr(), redispipe.Logger(nil))
	require.NoError(t, err)
	t.Cleanup(db.Close)
	return db
}

// TestStorage has the same cases as the tests of fiber's own storages.
func TestStorage(t *testing.T) {
	server := memserver.Strict(t)
	recorder := redistest.NewRecorder(opened(t, server))
	s := New(recorder)
	b, err := s.Get("a")
	require.NoError(t, err)
	require.Nil(t, b)
	require.NoError(t, s.Delete("a"))

	require.NoError(t, s.Set("a", []byte("one"), time.Hour))
	require.NoError(t, s.Set("a", []byte("two"), 0))
	require.NoError(t, s.Set("a", []byte("three"), time.Nanosecond))
	require.NoError(t, s.Set("a", []byte("four\x00"), time.Hour))
	require.Equal(t, [][]string{
		{"SET", "a", "one", "PX", "3600000"}, {"SET", "a", "two"}, {"SET", "a", "three", "PX", "1"},
		{"SET", "a", "four\x00", "PX", "3600000"},
	}, slices.DeleteFunc(recorder.Requests(), func(r []string) bool { return r[0] != "SET" }))
	b, err = s.Get("a")
	require.NoError(t, err)
	require.Equal(t, "four\x00", string(b))
	server.Advance(time.Hour)
	b, err = s.Get("a")
	require.NoError(t, err)
	require.Nil(t, b)

	require.NoError(t, s.Set("b", []byte("one"), time.Hour))
	require.NoError(t, s.Set("b", []byte("two"), -1))
	b, err = s.Get("b")
	require.NoError(t, err)
	require.Nil(t, b)
	require.NoError(t, s.Close())
}

// Fiber asks storages to ignore an empty key or value, without an error.
func TestEmpty(t *testing.T) {
	s := New(redistest.NewMock(t))
	require.NoError(t, s.Set("", []byte("value"), 0))
	require.NoError(t, s.Set("a", nil, 0))
	require.NoError(t, s.Delete(""))
	b, err := s.Get("")
	require.NoError(t, err)
	require.Nil(t, b)
}

// Reset deletes the keys with the prefix of the Sender, and no others.
func TestReset(t *testing.T) {
	server := memserver.Strict(t)
	db := opened(t, server)
	s := New(redis.WithPrefix(db, "sessions:"))
	for i := range page + 1 {
		require.NoError(t, s.Set(fmt.Sprint("key", i), []byte("value"), 0))
	}
	require.NoError(t, redis.Err(db.Do(t.Context(), "SET", "other", "value")))
	require.NoError(t, s.Reset())
	require.Equal(t, []string{"other"}, server.Miniredis().Keys())
	require.NoError(t, New(db).Reset())
	require.Empty(t, server.Miniredis().Keys())
}

// If a value may have been stored or deleted, the caller gets an error that says so.
func TestErrors(t *testing.T) {
	mock := redistest.NewMock(t)
	mock.Expect("SET", "a", "b").Unknown()
	mock.Expect("UNLINK", "a").Unknown()
	mock.Expect("GET", "a").ServerError("WRONGTYPE it is a list")
	s := New(mock)
	require.ErrorIs(t, s.Set("a", []byte("b"), 0), redis.ErrUnknown)
	require.ErrorIs(t, s.Delete("a"), redis.ErrUnknown)
	_, err := s.Get("a")
	require.ErrorIs(t, err, redis.ErrRefused)
}

// With the documented code for fiber's sessions, two requests with the same cookie share a session, and a request
// without a cookie gets a new one.
func TestSessions(t *testing.T) {
	app := fiber.New()
	app.Use(session.New(session.Config{Storage: New(opened(t, memserver.Strict(t)))}))
	app.Get("/", func(c fiber.Ctx) error {
		s := session.FromContext(c)
		visits, _ := s.Get("visits").(int)
		s.Set("visits", visits+1)
		return c.SendString(fmt.Sprint(visits + 1))
	})
	var cookies []*http.Cookie
	for _, want := range []string{"1", "2", "3", "1"} {
		request := httptest.NewRequest(http.MethodGet, "/", nil)
		if want != "1" {
			for _, cookie := range cookies {
				request.AddCookie(cookie)
			}
		}
		response, err := app.Test(request, fiber.TestConfig{Timeout: time.Minute, FailOnTimeout: true})
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Equal(t, want, string(body))
		cookies = response.Cookies()
	}
}
