package redisdebug_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/contrib/redisdebug"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisfailover"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/redistest/memserver"
)

func get(t *testing.T, p *redisdebug.Page, url string) string {
	t.Helper()
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest("GET", url, nil))
	require.Equal(t, 200, w.Code)
	return w.Body.String()
}

func TestPage(t *testing.T) {
	server := memserver.New(t)
	server.Miniredis().RequireAuth("the-password")
	page := redisdebug.New(0)
	opts := redisconn.Opts{Password: "the-password", Logger: redisconn.NoopLogger{}, IOTimeout: time.Minute}
	conn, err := redisconn.Connect(t.Context(), server.Addr(), opts)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, page.Add("the connection", conn))
	client, err := redispipe.Open(t.Context(), "redis://:the-password@"+server.Addr(), redispipe.Hooks(page))
	require.NoError(t, err)
	defer client.Close()
	require.NoError(t, page.Add("<b>client</b>", client))
	sub, err := redispubsub.New(conn, redispubsub.Opts{Logger: redispubsub.NoopLogger{}})
	require.NoError(t, err)
	defer sub.Close()
	require.NoError(t, page.Add("the subscriber", sub))

	client.Do(t.Context(), "SET", "the-key", "the-value")
	client.Do(t.Context(), "LPUSH", "the-key", "the-value")
	html := get(t, page, "/debug/redispipe")
	for _, want := range []string{"the connection", "&lt;b&gt;client&lt;/b&gt;", "the subscriber", server.Addr(), "SET", "LPUSH", "refused", "wire"} {
		assert.Contains(t, html, want)
	}
	text := get(t, page, "/debug/redispipe?json")
	for _, secret := range []string{"the-password", "the-key", "the-value"} {
		assert.NotContains(t, html, secret)
		assert.NotContains(t, text, secret)
	}
	assert.NotContains(t, html, "<script")
	var v redisdebug.View
	require.NoError(t, json.Unmarshal([]byte(text), &v))
	require.Len(t, v.Clients, 2)
	assert.Equal(t, server.Addr(), v.Clients[0].Nodes[0].Addr)
	assert.Equal(t, "LPUSH", v.Slow[0].Command, "the last one is the first")
}

// changing has statistics that change.
type changing struct{ now *redisconn.Stats }

func (c changing) Stats() redisconn.Stats { return *c.now }

func TestRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := redisdebug.New(time.Hour)
		now := &redisconn.Stats{Values: 100, Writes: 10, WrittenRequests: 100}
		require.NoError(t, page.Add("a", changing{now}))
		assert.Zero(t, page.View().Clients[0].PerSecond)
		time.Sleep(2 * time.Second)
		*now = redisconn.Stats{Values: 1100, Writes: 60, WrittenRequests: 1100}
		v := page.View().Clients[0]
		assert.InDelta(t, 500, v.PerSecond, 1e-6)
		assert.InDelta(t, 20, v.PerWrite, 1e-6)
		assert.Equal(t, v, page.View().Clients[0], "a second reader takes nothing from the first")
		time.Sleep(2 * time.Second)
		*now = redisconn.Stats{Values: 5}
		assert.Zero(t, page.View().Clients[0].PerSecond, "of another process")
	})
}

// stats has the statistics that it is made of.
type stats[T any] struct{ of T }

func (s stats[T]) Stats() T { return s.of }

func TestOtherSources(t *testing.T) {
	page := redisdebug.New(time.Hour)
	require.NoError(t, page.Add("a cache", stats[rediscache.Stats]{rediscache.Stats{Hits: 12345}}))
	require.NoError(t, page.Add("two databases", stats[redisfailover.Stats]{redisfailover.Stats{
		Failed: 3, Members: []redisfailover.MemberState{{Name: "near", Up: true, Err: fmt.Errorf("the-secret")}, {Name: "far"}},
	}}))
	require.NoError(t, page.Add("a subscriber", stats[redispubsub.Stats]{redispubsub.Stats{
		OpenGaps: 7, Sockets: []redispubsub.SocketStats{{Addr: "10.0.0.1:6379", State: redispubsub.SocketDown}},
	}}))
	require.ErrorContains(t, page.Add("nothing", 1), "int has no statistics")
	for _, url := range []string{"/", "/?json"} {
		text := get(t, page, url)
		for _, want := range []string{"a cache", "12345", "two databases", "near", "far", "10.0.0.1:6379", "down"} {
			assert.Contains(t, text, want)
		}
		assert.NotContains(t, text, "the-secret")
	}
	assert.Contains(t, get(t, page, "/"), "3 because a member failed")
}

func TestSlow(t *testing.T) {
	page := redisdebug.New(10 * time.Millisecond)
	for i := range 60 {
		page.After(t.Context(), redis.Operation{Command: fmt.Sprint("C", i), Requests: 1}, redis.Completion{Duration: time.Second})
		page.After(t.Context(), redis.Operation{Command: "FAST"}, redis.Completion{Duration: time.Millisecond})
	}
	v := page.View()
	require.Len(t, v.Slow, 50)
	assert.Equal(t, "C59", v.Slow[0].Command)
	assert.Equal(t, "C10", v.Slow[49].Command)
	assert.Equal(t, "1s", v.Slow[0].Took)
	assert.False(t, strings.Contains(get(t, page, "/"), "FAST"))
}
