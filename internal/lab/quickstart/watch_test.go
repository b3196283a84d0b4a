package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// serveVars serves the expvar page of a process that sends n requests between two reads of the
// page.
func serveVars(t *testing.T, n int) *httptest.Server {
	var looks atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/debug/vars" {
			http.NotFound(w, r)
			return
		}
		stats, err := json.Marshal(statsOf(n * int(looks.Add(1))))
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(w, `{"cmdline": ["service"], "memstats": {"TotalAlloc": 7}, "redis": %s}`, stats)
	}))
	t.Cleanup(server.Close)
	return server
}

// untilLine is a writer that ends a context when it gets a line.
type untilLine struct {
	strings.Builder
	end context.CancelFunc
}

func (u *untilLine) Write(p []byte) (int, error) {
	u.end()
	return u.Builder.Write(p)
}

func TestWatch(t *testing.T) {
	server := serveVars(t, 1000)
	ctx, cancel := context.WithCancel(testContext(t))
	out := &untilLine{end: cancel}
	require.NoError(t, watch(ctx, server.URL+"/debug/vars", time.Millisecond, out))
	require.Regexp(t, `^redis: [0-9,]+ requests/s, 0 failed, 10\.0/write, 7 in flight, 0 queued;\n    mean queue 1µs`, out.String())

	err := watch(testContext(t), server.URL, time.Millisecond, out)
	require.ErrorContains(t, err, "404")
}

// The page of contrib/redisdebug lists clients and caches with their names.
func TestParsePage(t *testing.T) {
	stats, err := json.Marshal(statsOf(1000))
	require.NoError(t, err)
	samples := parsePage(fmt.Appendf(nil, `{"At": "now", "Clients": [{"Name": "sessions", "PerSecond": 7, "Total": %s, "Moved": 0}],
		"Caches": [{"Name": "users", "Hits": 5, "MaxBytes": 10}], "Slow": [{"Command": "GET"}], "Subscribers": null}`, stats))
	require.Len(t, samples, 2)
	require.EqualValues(t, 1000, samples["sessions"].Values)
	require.EqualValues(t, 5, samples["users"].Cache.Hits)
}

func TestWatchWithoutStatistics(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"cmdline": ["service"], "memstats": {"TotalAlloc": 7}}`)
	}))
	defer server.Close()
	require.ErrorContains(t, watch(testContext(t), server.URL, time.Millisecond, nil), "has no statistics of redispipe")
}
