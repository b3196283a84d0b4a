package redisscs

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest"
	"github.com/joomcode/redispipe/redistest/memserver"
)

func opened(t *testing.T, url string) *redispipe.Client {
	t.Helper()
	db, err := redispipe.Open(context.Background(), url, redispipe.Logger(nil))
	require.NoError(t, err)
	t.Cleanup(db.Close)
	return db
}

// TestStore has the same cases as the tests of scs' own stores.
func TestStore(t *testing.T) {
	server := memserver.Strict(t)
	store := New(opened(t, "redis://"+server.Addr()))

	_, found, err := store.Find("a")
	require.NoError(t, err)
	require.False(t, found)
	require.NoError(t, store.Delete("a"))

	require.NoError(t, store.Commit("a", []byte("one"), time.Now().Add(time.Minute)))
	require.NoError(t, store.Commit("a", []byte("two\x00"), time.Now().Add(time.Hour)))
	b, found, err := store.Find("a")
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, "two\x00", string(b))
	require.Greater(t, server.Miniredis().TTL("scs:session:a"), time.Minute)

	server.Advance(time.Hour)
	_, found, err = store.Find("a")
	require.NoError(t, err)
	require.False(t, found)

	require.NoError(t, store.Commit("b", nil, time.Now().Add(time.Hour)))
	b, found, err = store.Find("b")
	require.NoError(t, err)
	require.True(t, found)
	require.Empty(t, b)
	require.NoError(t, store.Delete("b"))
	_, found, err = store.Find("b")
	require.NoError(t, err)
	require.False(t, found)
}

// A session that is already past its expiry is not stored, and its earlier state is deleted.
func TestPast(t *testing.T) {
	store := New(opened(t, "redis://"+memserver.Strict(t).Addr()))
	require.NoError(t, store.Commit("a", []byte("one"), time.Now().Add(time.Hour)))
	require.NoError(t, store.Commit("a", []byte("two"), time.Now()))
	_, found, err := store.Find("a")
	require.NoError(t, err)
	require.False(t, found)
}

// All finds the sessions with the prefix of its Sender, and no others.
func TestAll(t *testing.T) {
	db := opened(t, "redis://"+memserver.Strict(t).Addr())
	store := New(redis.WithPrefix(db, "shop:"))
	all, err := store.All()
	require.NoError(t, err)
	require.NotNil(t, all)
	require.Empty(t, all)

	want := map[string][]byte{}
	for i := range page + 50 {
		token := fmt.Sprint("token-", i)
		want[token] = fmt.Append(nil, "data of ", i)
		require.NoError(t, store.Commit(token, want[token], time.Now().Add(time.Hour)))
	}
	require.NoError(t, New(db).Commit("other", nil, time.Now().Add(time.Hour)))
	all, err = store.All()
	require.NoError(t, err)
	require.Equal(t, want, all)
}

// If a session may have been stored, or was not stored, the caller gets an error that says so.
func TestErrors(t *testing.T) {
	mock := redistest.NewMock(t)
	mock.Expect("SET", "scs:session:a", "b", "PX", redistest.Any).Unknown()
	mock.Expect("DEL", "scs:session:a").NotSent()
	mock.Expect("GET", "scs:session:a").ServerError("WRONGTYPE it is a list")
	store := New(mock)
	require.ErrorIs(t, store.Commit("a", []byte("b"), time.Now().Add(time.Hour)), redis.ErrUnknown)
	require.ErrorIs(t, store.Delete("a"), redis.ErrNotSent)
	_, found, err := store.Find("a")
	require.ErrorIs(t, err, redis.ErrRefused)
	require.False(t, found)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = store.AllCtx(ctx)
	require.Error(t, err)
}

// With the documented code for scs, a request gets the value that an earlier one has put. After RenewToken the old
// token no longer leads to the session.
func TestManager(t *testing.T) {
	sessions := scs.New()
	sessions.Store = New(opened(t, "redis://"+memserver.Strict(t).Addr()))
	mux := http.NewServeMux()
	mux.HandleFunc("/put", func(_ http.ResponseWriter, r *http.Request) {
		sessions.Put(r.Context(), "message", "Hello from a session!")
	})
	mux.HandleFunc("/get", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, sessions.GetString(r.Context(), "message"))
	})
	mux.HandleFunc("/renew", func(_ http.ResponseWriter, r *http.Request) {
		if err := sessions.RenewToken(r.Context()); err != nil {
			t.Error(err)
		}
	})
	handler := sessions.LoadAndSave(mux)
	var cookies []*http.Cookie
	visit := func(path string) string {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		for _, cookie := range cookies {
			request.AddCookie(cookie)
		}
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		require.Equal(t, http.StatusOK, recorder.Code)
		if set := recorder.Result().Cookies(); len(set) > 0 {
			cookies = set
		}
		return recorder.Body.String()
	}
	visit("/put")
	require.Equal(t, "Hello from a session!", visit("/get"))
	old := cookies
	visit("/renew")
	require.Equal(t, "Hello from a session!", visit("/get"))
	cookies = old
	require.Empty(t, visit("/get"))

	found := 0
	require.NoError(t, sessions.Iterate(t.Context(), func(ctx context.Context) error {
		found++
		require.Equal(t, "Hello from a session!", sessions.GetString(ctx, "message"))
		return nil
	}))
	require.Equal(t, 1, found)
}
