package rediscluster

import (
	"testing"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

func redirectTo(typ *errorx.Type, addr any) *errorx.Error {
	return typ.New("x").WithProperty(redis.EKMovedTo, addr).WithProperty(redis.EKSlot, int64(1))
}

// TestRedirect has a row for each rule of what is sent again.
func TestRedirect(t *testing.T) {
	l := limits{movedRetries: 3, waitToMigrate: 20 * time.Millisecond}
	moved := decision{action: followMoved, host: "10.0.0.1", port: 7000, refresh: true}
	ask := decision{action: followAsk, host: "10.0.0.1", port: 7000}
	elsewhere := decision{action: retryElsewhere, refresh: true}
	spent := tries{retries: maxRetries}
	lost := redis.ErrIO.New("x")
	cases := []struct {
		name       string
		err        *errorx.Error
		done       tries
		idempotent bool
		want       decision
	}{
		{"MOVED", redirectTo(redis.ErrMoved, "10.0.0.1:7000"), tries{}, false, moved},
		{"MOVED, last hop", redirectTo(redis.ErrMoved, "10.0.0.1:7000"), tries{hops: 2}, false, moved},
		{"MOVED, one hop too many", redirectTo(redis.ErrMoved, "10.0.0.1:7000"), tries{hops: 3}, false, decision{refresh: true}},
		{"MOVED by the host that answered", redirectTo(redis.ErrMoved, ":7001"), tries{}, false, decision{action: followMoved, port: 7001, refresh: true}},
		{"MOVED to IPv6", redirectTo(redis.ErrMoved, "2001:db8::1:65535"), tries{}, false, decision{action: followMoved, host: "2001:db8::1", port: 65535, refresh: true}},
		{"MOVED to a hostname", redirectTo(redis.ErrMoved, "a.example:7000"), tries{}, false, decision{action: followMoved, host: "a.example", port: 7000, refresh: true}},
		{"MOVED, malformed", redirectTo(redis.ErrMoved, "foo"), tries{}, false, decision{}},
		{"MOVED to port 0", redirectTo(redis.ErrMoved, "10.0.0.1:0"), tries{}, false, decision{}},
		{"MOVED to nowhere", redis.ErrMoved.New("x"), tries{}, false, decision{}},
		{"MOVED with a wrong property", redirectTo(redis.ErrMoved, 7), tries{}, false, decision{}},
		{"ASK", redirectTo(redis.ErrAsk, "10.0.0.1:7000"), tries{}, false, ask},
		{"ASK, one hop too many", redirectTo(redis.ErrAsk, "10.0.0.1:7000"), tries{hops: 3}, false, decision{}},
		{"ASK, malformed", redirectTo(redis.ErrAsk, "foo"), tries{}, false, decision{}},
		{"a redirect without a slot", redis.ErrResponseFormat.New("malformed redirect"), tries{}, true, decision{}},

		{"TRYAGAIN", redis.ErrTryAgain.New("x"), tries{}, false, decision{action: awaitMigration, wait: 20 * time.Millisecond}},
		{"TRYAGAIN after retries", redis.ErrTryAgain.New("x"), spent, false, decision{action: awaitMigration, wait: 20 * time.Millisecond}},
		{"TRYAGAIN too often", redis.ErrTryAgain.New("x"), tries{waits: maxWaits}, false, decision{}},
		{"CLUSTERDOWN", redis.ErrClusterDown.New("x"), tries{}, false, decision{action: repeatIt, wait: 2 * time.Millisecond, refresh: true}},
		{"CLUSTERDOWN too often", redis.ErrClusterDown.New("x"), spent, false, decision{refresh: true}},
		{"LOADING", redis.ErrLoading.New("x"), tries{}, false, decision{action: retryElsewhere}},
		{"LOADING again", redis.ErrLoading.New("x"), tries{retries: 3}, false, decision{action: retryElsewhere, wait: 8 * time.Millisecond}},
		{"LOADING too often", redis.ErrLoading.New("x"), spent, false, decision{}},
		{"READONLY", redis.ErrReadOnly.New("x"), tries{}, false, decision{action: retryElsewhere, refresh: true, masterOnly: true}},
		{"MASTERDOWN", redis.ErrMasterDown.New("x"), tries{}, false, decision{action: retryElsewhere, refresh: true, masterOnly: true}},

		{"not connected", redisconn.ErrNotConnected.New("x"), tries{}, false, elsewhere},
		{"dialing failed", redisconn.ErrDial.New("x"), tries{}, false, elsewhere},
		{"handshake refused", redisconn.ErrAuth.New("x"), tries{}, false, elsewhere},
		{"node closed", redis.ErrContextClosed.New("x"), tries{}, false, elsewhere},
		{"no node", ErrNoAliveConnection.New("x"), tries{retries: 1}, false, decision{action: retryElsewhere, refresh: true, wait: 2 * time.Millisecond}},
		{"not connected too often", redisconn.ErrNotConnected.New("x"), spent, false, decision{refresh: true}},
		{"a read that ended unknown", lost, tries{}, true, elsewhere},
		{"a read that ended unknown too often", lost, spent, true, decision{refresh: true}},
		{"a read that ended unknown too late", lost, tries{elapsed: maxElapsed}, true, decision{refresh: true}},
		{"a write that ended unknown", lost, tries{}, false, decision{refresh: true}},

		{"a server's error", redis.ErrResult.New("ERR x"), tries{}, true, decision{}},
		{"BUSY: a script runs for seconds", redis.ErrBusy.New("x"), tries{}, true, decision{}},
		{"WRONGTYPE", redis.ErrResult.New("WRONGTYPE x"), tries{}, true, decision{}},
		{"EXECABORT", redis.ErrExecAbort.New("x"), tries{}, true, decision{}},
		{"argument type", redis.ErrArgumentType.New("x"), tries{}, true, decision{}},
		{"malformed batch", redis.ErrBatchFormat.New("x"), tries{}, true, decision{}},
		{"forbidden", redis.ErrCommandForbidden.New("x"), tries{}, true, decision{}},
		{"several slots", redis.ErrNoSlotKey.New("x"), tries{}, true, decision{}},
		{"cancelled", redis.ErrRequestCancelled.New("x"), tries{}, true, decision{}},
		{"withdrawn", redis.ErrRequestWithdrawn.New("x"), tries{}, true, decision{}},
		{"queue full", redis.ErrQueueFull.New("x"), tries{}, true, decision{}},
		{"not a reply", redis.ErrResponseFormat.New("x"), tries{}, true, decision{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.want, redirect(c.err, c.done, c.idempotent, l))
		})
	}
}

func TestDecisionCount(t *testing.T) {
	for a, want := range map[action]tries{
		resolveIt:      {},
		followMoved:    {hops: 1},
		followAsk:      {hops: 1},
		retryElsewhere: {retries: 1},
		repeatIt:       {retries: 1},
		awaitMigration: {waits: 1},
	} {
		assert.Equal(t, want, decision{action: a}.count(tries{}))
	}
	assert.Equal(t, tries{waits: 2, retries: 1}, decision{action: awaitMigration}.count(tries{hops: 3, waits: 1, retries: 1}))
}

// TestRedirectEnds: whatever a server answers, a request comes to its end.
func TestRedirectEnds(t *testing.T) {
	l := Opts{MovedRetries: maxMovedRetries}.withDefaults()
	errs := []*errorx.Error{
		redirectTo(redis.ErrMoved, "a:1"), redirectTo(redis.ErrAsk, "a:1"), redis.ErrTryAgain.New("x"),
		redis.ErrClusterDown.New("x"), redis.ErrLoading.New("x"), redis.ErrReadOnly.New("x"), redis.ErrMasterDown.New("x"),
		redis.ErrIO.New("x"),
	}
	var done tries
	steps := 0
	for ended := 0; ended < len(errs); {
		ended = 0
		for _, err := range errs {
			d := redirect(err, done, true, limits{l.MovedRetries, l.WaitToMigrate})
			if d.action == resolveIt {
				ended++
				continue
			}
			done = d.count(done)
			steps++
			require.LessOrEqual(t, steps, maxMovedRetries*(maxWaits+1)+maxRetries+maxWaits)
		}
	}
}

func TestBackoff(t *testing.T) {
	assert.Zero(t, backoff(0))
	assert.Equal(t, 2*time.Millisecond, backoff(1))
	assert.Equal(t, 4*time.Millisecond, backoff(2))
	total := time.Duration(0)
	for i := range uint8(maxRetries) {
		assert.LessOrEqual(t, backoff(i), backoffMost)
		total += backoff(i)
	}
	assert.Less(t, total, 300*time.Millisecond)
	assert.Equal(t, backoffMost, backoff(200))
	for range 100 {
		wait := jittered(10 * time.Millisecond)
		assert.GreaterOrEqual(t, wait, 5*time.Millisecond)
		assert.Less(t, wait, 15*time.Millisecond)
	}
	assert.Zero(t, jittered(0))
}
