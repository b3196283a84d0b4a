package redissessions

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gorilla/sessions"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest"
	"github.com/joomcode/redispipe/redistest/memserver"
)

var key = []byte("0123456789abcdef0123456789abcdef")

func opened(t *testing.T, server *memserver.Server) *redispipe.Client {
	t.Helper()
	db, err := redispipe.Open(context.Background(), "redis://"+server.Addr(), redispipe.Logger(nil))
	require.NoError(t, err)
	t.Cleanup(db.Close)
	return db
}

// browser is a client that keeps the cookies of responses.
type browser struct {
	t       *testing.T
	store   *Store
	cookies map[string]*http.Cookie
}

// visit gets the session of a request, and saves it if change returns true.
func (b *browser) visit(change func(s *sessions.Session, err error) bool) {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), http.MethodGet, "/", nil)
	for _, cookie := range b.cookies {
		r.AddCookie(cookie)
	}
	session, err := b.store.Get(r, "visits")
	require.NotNil(b.t, session)
	w := httptest.NewRecorder()
	if change(session, err) {
		require.NoError(b.t, session.Save(r, w))
	}
	for _, cookie := range w.Result().Cookies() {
		b.cookies[cookie.Name] = cookie
		if cookie.MaxAge < 0 {
			delete(b.cookies, cookie.Name)
		}
	}
}

func newBrowser(t *testing.T, store *Store) *browser {
	return &browser{t: t, store: store, cookies: map[string]*http.Cookie{}}
}

func TestStore(t *testing.T) {
	server := memserver.Strict(t)
	b := newBrowser(t, New(opened(t, server), key, key))
	b.visit(func(s *sessions.Session, err error) bool {
		require.NoError(t, err)
		require.True(t, s.IsNew)
		s.Values["n"], s.Values[7] = 1, []byte("seven")
		s.AddFlash("hello")
		return true
	})
	names := server.Miniredis().Keys()
	require.Len(t, names, 1)
	require.Equal(t, int(month/time.Second), b.cookies["visits"].MaxAge)
	b.visit(func(s *sessions.Session, err error) bool {
		require.NoError(t, err)
		require.False(t, s.IsNew)
		require.Equal(t, "session_"+s.ID, names[0])
		require.Equal(t, 1, s.Values["n"])
		require.Equal(t, []byte("seven"), s.Values[7])
		require.Equal(t, []any{"hello"}, s.Flashes())
		return true
	})
	b.visit(func(s *sessions.Session, err error) bool {
		require.NoError(t, err)
		require.Empty(t, s.Flashes())
		s.Options.MaxAge = -1
		return true
	})
	require.Empty(t, server.Miniredis().Keys())
	require.Empty(t, b.cookies)
}

// A session ends in the store when its cookie does. With no age, the store keeps it for a day.
func TestAges(t *testing.T) {
	server := memserver.Strict(t)
	recorder := redistest.NewRecorder(opened(t, server))
	store := New(recorder, key)
	for age, kept := range map[int]time.Duration{3600: time.Hour, 0: browserAge, 1 << 30: 1 << 30 * time.Second} {
		recorder.Reset()
		store.MaxAge(age)
		b := newBrowser(t, store)
		b.visit(func(s *sessions.Session, _ error) bool { s.Values["a"] = "b"; return true })
		require.Equal(t, []string{"EX", fmt.Sprint(int(kept / time.Second))}, recorder.Requests()[0][3:])
		require.Equal(t, age, b.cookies["visits"].MaxAge)
		b.visit(func(s *sessions.Session, err error) bool {
			require.NoError(t, err)
			require.Equal(t, "b", s.Values["a"])
			return false
		})
		server.Advance(kept)
		b.visit(func(s *sessions.Session, err error) bool {
			require.NoError(t, err)
			require.True(t, s.IsNew)
			require.Empty(t, s.Values)
			return false
		})
	}
}

// If a cookie was not signed by the store, the store does not look up the session in it.
func TestForged(t *testing.T) {
	store := New(redistest.NewMock(t), key)
	for _, value := range []string{"", "x", "session_1"} {
		b := newBrowser(t, store)
		b.cookies["visits"] = &http.Cookie{Name: "visits", Value: value}
		b.visit(func(s *sessions.Session, err error) bool {
			require.Error(t, err)
			require.True(t, s.IsNew)
			require.Empty(t, s.ID)
			return false
		})
	}
}

// A session that can't be read is not replaced. If a session may have been stored, the caller gets an error that says
// so.
func TestErrors(t *testing.T) {
	mock := redistest.NewMock(t)
	store := New(mock, key)
	b := newBrowser(t, store)
	mock.Expect("SET", redistest.Any, redistest.Any, "EX", int(month/time.Second)).Reply("OK")
	first := ""
	b.visit(func(s *sessions.Session, _ error) bool { first = s.ID; return true })

	for _, answer := range []func(*redistest.Expectation){
		func(e *redistest.Expectation) { e.NotSent() },
		func(e *redistest.Expectation) { e.Reply([]byte("not gob")) },
	} {
		answer(mock.Expect("GET", redistest.Any))
		mock.Expect("SET", redistest.Any, redistest.Any, "EX", redistest.Any).Unknown()
		mock.Expect("DEL", redistest.Any).NotSent()
		b.visit(func(s *sessions.Session, err error) bool {
			require.Error(t, err)
			require.True(t, s.IsNew)
			r, w := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
			require.ErrorIs(t, s.Save(r, w), redis.ErrUnknown)
			require.NotEqual(t, first, s.ID)
			s.Options.MaxAge = -1
			require.ErrorIs(t, s.Save(r, w), redis.ErrNotSent)
			require.Empty(t, w.Result().Cookies())
			return false
		})
	}
	r, w := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
	s, err := store.New(r, "visits")
	require.NoError(t, err)
	s.Values["f"] = func() {}
	require.Error(t, s.Save(r, w))
}
