package chaos_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/redistest/memserver"
)

// visits is a service. POST /PAGE counts a visit and returns the total, GET /PAGE returns the
// total. If a visit was not answered, the HTTP status shows its outcome.
type visits struct{ db redis.SyncCtx }

func (v visits) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	command := "GET"
	if r.Method == http.MethodPost {
		command = "INCR"
	}
	n, err := redis.As[int](v.db.Do(r.Context(), command, "visits:"+r.URL.Path))
	switch {
	case err == nil:
		fmt.Fprint(w, n)
	case redis.SafeToRetry(err):
		w.Header().Set("Retry-After", "1")
		http.Error(w, "not counted: try again", http.StatusServiceUnavailable)
	case redis.OutcomeOf(err) == redis.OutcomeUnknown:
		http.Error(w, "perhaps counted: look before you try again", http.StatusInternalServerError)
	default:
		http.Error(w, "not counted", http.StatusBadGateway)
	}
}

// drill is the service, its proxy, and the server behind it.
type drill struct {
	t       *testing.T
	service visits
	proxy   *chaos.Proxy
	server  *memserver.Server
}

func newDrill(t *testing.T) drill {
	server := memserver.New(t)
	proxy := chaos.NewProxy(t, server.Addr(), chaos.ProxyOpts{Seed: 1})
	conn, err := redisconn.Connect(t.Context(), proxy.Addr(), redisconn.Opts{IOTimeout: time.Hour, Logger: redisconn.NoopLogger{}})
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return drill{t, visits{redis.SyncCtx{S: conn}}, proxy, server}
}

// visit makes a visit and returns the status. Its caller gives up when patience returns true.
func (d drill) visit(patience func() bool) int {
	ctx, leave := context.WithCancel(d.t.Context())
	defer leave()
	if patience != nil {
		go func() {
			for !patience() && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			leave()
		}()
	}
	w := httptest.NewRecorder()
	d.service.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "POST", "/page", nil))
	return w.Code
}

func (d drill) counted() string {
	n, _ := d.server.Miniredis().Get("visits:/page")
	return n
}

// For each preset: how the service answers, and what the server has counted. One visit was counted
// before the fault.
func TestService(t *testing.T) {
	const counted = "2"
	const again, perhaps, refused = http.StatusServiceUnavailable, http.StatusInternalServerError, http.StatusBadGateway
	for name, tt := range map[string]struct {
		fault   chaos.Fault
		status  int
		counted string
	}{
		"freeze":                {chaos.Freeze(), perhaps, "1"},
		"half-open":             {chaos.HalfOpen(), perhaps, "1"},
		"requests are lost":     {chaos.BlackHole(chaos.Requests), perhaps, "1"},
		"replies are lost":      {chaos.BlackHole(chaos.Replies), perhaps, counted},
		"cut within a reply":    {chaos.CutAfter(1), perhaps, counted},
		"reset after execution": {chaos.ResetAfterExecution("visits:/page"), perhaps, counted},
		"slow":                  {chaos.SlowReplies(1, time.Millisecond), http.StatusOK, counted},
		"loading":               {chaos.Loading(), again, "1"},
		"read only":             {chaos.ReadOnly(), refused, "1"},
		"moved storm":           {chaos.MovedStorm("127.0.0.1:1"), refused, "1"},
		"cluster down":          {chaos.ClusterDown(), again, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDrill(t)
			require.Equal(t, http.StatusOK, d.visit(nil))
			var patience func() bool
			if f := tt.fault; f.Do == chaos.Swallow || f.Do == chaos.Delay { // the server's answer does not arrive
				written := d.proxy.Stats()
				patience = func() bool {
					return d.counted() == tt.counted && (f.Do == chaos.Delay || d.proxy.Stats().Requests > written.Requests)
				}
			}
			d.proxy.Arm(tt.fault)
			status := d.visit(patience)
			if tt.fault.Do == chaos.Delay && status == again { // the caller left before the request was written
				status = perhaps
			}
			require.Equal(t, tt.status, status)
			require.Equal(t, tt.counted, d.counted())

			d.proxy.Heal()
			require.Eventually(t, func() bool { return d.visit(nil) == http.StatusOK }, time.Minute, time.Millisecond)
		})
	}
}
