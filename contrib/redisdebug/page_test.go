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
	"github.com/joomcode/redispipe/rediscluster"
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

// The nodes of a cluster are shown with their slots.
func TestSlots(t *testing.T) {
	page := redisdebug.New(time.Hour)
	nodes := []rediscluster.NodeStats{
		{Addr: "10.0.0.1:7000", Slots: []rediscluster.SlotRange{{From: 0, To: 5460}, {From: 7000, To: 7000}}},
		{Addr: "10.0.0.2:7000", Replica: true, Slots: []rediscluster.SlotRange{{From: 5461, To: 16383}}},
	}
	require.NoError(t, page.Add("cluster", stats[rediscluster.Stats]{rediscluster.Stats{Nodes: nodes}}))
	html := get(t, page, "/")
	assert.Contains(t, html, "<td>10.0.0.1:7000</td><td>0-5460, 7000</td>")
	assert.Contains(t, html, "<td>10.0.0.2:7000 (replica)</td><td>5461-16383</td>")
	assert.Contains(t, get(t, page, "/?json"), `{"From":0,"To":5460}`)
}

// A field of the JSON that comes from Stats has its name in Stats.
func TestNames(t *testing.T) {
	page := redisdebug.New(time.Hour)
	sources := map[string]any{
		"Clients":     rediscluster.Stats{Nodes: []rediscluster.NodeStats{{Conns: []redisconn.Stats{{}}}}},
		"Caches":      rediscache.Stats{},
		"Subscribers": redispubsub.Stats{Sockets: []redispubsub.SocketStats{{}}},
		"Failovers":   redisfailover.Stats{Members: []redisfailover.MemberState{{}}},
	}
	require.NoError(t, page.Add("a", stats[rediscluster.Stats]{sources["Clients"].(rediscluster.Stats)}))
	require.NoError(t, page.Add("b", stats[rediscache.Stats]{sources["Caches"].(rediscache.Stats)}))
	require.NoError(t, page.Add("c", stats[redispubsub.Stats]{sources["Subscribers"].(redispubsub.Stats)}))
	require.NoError(t, page.Add("d", stats[redisfailover.Stats]{sources["Failovers"].(redisfailover.Stats)}))
	var view map[string]any
	require.NoError(t, json.Unmarshal([]byte(get(t, page, "/?json")), &view))
	for kind, source := range sources {
		text, err := json.Marshal(source)
		require.NoError(t, err)
		var want any
		require.NoError(t, json.Unmarshal(text, &want))
		requireNames(t, kind, want, view[kind].([]any)[0])
	}
}

// requireNames requires that got has the names of want, apart from errors and senders.
func requireNames(t *testing.T, path string, want, got any) {
	switch want := want.(type) {
	case map[string]any:
		for name, value := range want {
			if name != "Err" && name != "Sender" {
				require.Contains(t, got, name, path)
				requireNames(t, path+"."+name, value, got.(map[string]any)[name])
			}
		}
	case []any:
		for i, value := range want {
			requireNames(t, path, value, got.([]any)[i])
		}
	}
}

func TestAddRefuses(t *testing.T) {
	page := redisdebug.New(time.Hour)
	require.NoError(t, page.Add("a cache", stats[rediscache.Stats]{}))
	require.ErrorContains(t, page.Add("a cache", stats[rediscache.Stats]{}), `already has "a cache"`)
	require.ErrorContains(t, page.Add("nothing", nil), "has no statistics")
	require.ErrorContains(t, page.Add("", stats[rediscache.Stats]{}), "has no name")
	for _, from := range []any{
		(*redispipe.Client)(nil), (*redisconn.Connection)(nil), (*rediscluster.Cluster)(nil), (*rediscache.Cache)(nil),
		(*redispubsub.Subscriber)(nil), (*redisfailover.Client)(nil),
	} {
		require.ErrorContains(t, page.Add("nil", from), "is nil")
	}
	require.Empty(t, page.View().Clients)
}

// changing is a source whose statistics the test can change.
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

// stats is a source that returns the statistics in of.
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
	assert.Contains(t, get(t, page, "/"), "Stages are known only for operations that failed")
	assert.False(t, strings.Contains(get(t, page, "/"), "FAST"))
}
