package topology

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
	l := Limits{MovedRetries: 3, WaitToMigrate: 20 * time.Millisecond}
	moved := Decision{Action: FollowMoved, Host: "10.0.0.1", Port: 7000, Refresh: true}
	ask := Decision{Action: FollowAsk, Host: "10.0.0.1", Port: 7000}
	elsewhere := Decision{Action: RetryElsewhere, Refresh: true}
	spent := Tries{Retries: maxRetries}
	lost := redis.ErrIO.New("x")
	const nonLocal = "ERR Attempted to access a non local key in a cluster node"
	noNode := redis.Errors.NewType("no_node_of_a_test", redis.ErrTraitNotSent, redis.ErrTraitConnectivity)
	cases := []struct {
		name       string
		err        *errorx.Error
		done       Tries
		idempotent bool
		want       Decision
	}{
		{"MOVED", redirectTo(redis.ErrMoved, "10.0.0.1:7000"), Tries{}, false, moved},
		{"MOVED, last hop", redirectTo(redis.ErrMoved, "10.0.0.1:7000"), Tries{hops: 2}, false, moved},
		{"MOVED, one hop too many", redirectTo(redis.ErrMoved, "10.0.0.1:7000"), Tries{hops: 3}, false, Decision{Refresh: true}},
		{"MOVED by the host that answered", redirectTo(redis.ErrMoved, ":7001"), Tries{}, false, Decision{Action: FollowMoved, Port: 7001, Refresh: true}},
		{"MOVED to IPv6", redirectTo(redis.ErrMoved, "2001:db8::1:65535"), Tries{}, false, Decision{Action: FollowMoved, Host: "2001:db8::1", Port: 65535, Refresh: true}},
		{"MOVED to a hostname", redirectTo(redis.ErrMoved, "a.example:7000"), Tries{}, false, Decision{Action: FollowMoved, Host: "a.example", Port: 7000, Refresh: true}},
		{"MOVED, malformed", redirectTo(redis.ErrMoved, "foo"), Tries{}, false, Decision{}},
		{"MOVED to port 0", redirectTo(redis.ErrMoved, "10.0.0.1:0"), Tries{}, false, Decision{}},
		{"MOVED to nowhere", redis.ErrMoved.New("x"), Tries{}, false, Decision{}},
		{"MOVED with a wrong property", redirectTo(redis.ErrMoved, 7), Tries{}, false, Decision{}},
		{"MOVED to an unknown host", redirectTo(redis.ErrMoved, "?:7000"), Tries{}, false, Decision{Action: FollowMoved, Host: "?", Port: 7000, Refresh: true}},
		{"MOVED to an unknown host, one hop too many", redirectTo(redis.ErrMoved, "?:7000"), Tries{hops: 3}, false, Decision{Refresh: true}},
		{"MOVED to an unknown host, malformed", redirectTo(redis.ErrMoved, "?:0"), Tries{}, false, Decision{}},
		{"ASK to an unknown host", redirectTo(redis.ErrAsk, "?:7000"), Tries{}, false, Decision{Action: AwaitMigration, Wait: l.WaitToMigrate}},
		{"ASK", redirectTo(redis.ErrAsk, "10.0.0.1:7000"), Tries{}, false, ask},
		{"ASK, one hop too many", redirectTo(redis.ErrAsk, "10.0.0.1:7000"), Tries{hops: 3}, false, Decision{}},
		{"ASK, malformed", redirectTo(redis.ErrAsk, "foo"), Tries{}, false, Decision{}},
		{"a redirect without a slot", redis.ErrResponseFormat.New("malformed redirect"), Tries{}, true, Decision{}},

		{"TRYAGAIN", redis.ErrTryAgain.New("x"), Tries{}, false, Decision{Action: AwaitMigration, Wait: 20 * time.Millisecond}},
		{"TRYAGAIN after retries", redis.ErrTryAgain.New("x"), spent, false, Decision{Action: AwaitMigration, Wait: 20 * time.Millisecond}},
		{"TRYAGAIN too often", redis.ErrTryAgain.New("x"), Tries{waits: maxWaits}, false, Decision{}},
		{"CLUSTERDOWN", redis.ErrClusterDown.New("x"), Tries{}, false, Decision{Action: Repeat, Wait: 2 * time.Millisecond, Refresh: true}},
		{"CLUSTERDOWN after retries", redis.ErrClusterDown.New("x"), Tries{Retries: maxRetries, downs: 9}, false, Decision{Action: Repeat, Wait: 64 * time.Millisecond, Refresh: true}},
		{"CLUSTERDOWN too often", redis.ErrClusterDown.New("x"), Tries{downs: maxDowns}, false, Decision{Refresh: true}},
		{"CLUSTERDOWN too late", redis.ErrClusterDown.New("x"), Tries{Elapsed: MaxElapsed}, false, Decision{Refresh: true}},
		{"CLUSTERDOWN, of a replica", redis.ErrClusterDown.New("x"), Tries{OnReplica: true}, false, Decision{Action: Repeat, Wait: 2 * time.Millisecond, Refresh: true, MasterOnly: true}},
		{"LOADING", redis.ErrLoading.New("x"), Tries{}, false, Decision{Action: RetryElsewhere}},
		{"LOADING, of a replica", redis.ErrLoading.New("x"), Tries{OnReplica: true}, false, Decision{Action: RetryElsewhere, Refresh: true, MasterOnly: true}},
		{"LOADING again", redis.ErrLoading.New("x"), Tries{Retries: 3}, false, Decision{Action: RetryElsewhere, Wait: 8 * time.Millisecond}},
		{"LOADING too often", redis.ErrLoading.New("x"), spent, false, Decision{}},
		{"READONLY", redis.ErrReadOnly.New("x"), Tries{}, false, Decision{Action: RetryElsewhere, Refresh: true, MasterOnly: true}},
		{"MASTERDOWN, of a replica", redis.ErrMasterDown.New("x"), Tries{OnReplica: true}, false, Decision{Action: RetryElsewhere, Refresh: true}},
		{"MASTERDOWN", redis.ErrMasterDown.New("x"), Tries{}, false, Decision{Action: RetryElsewhere, Refresh: true, MasterOnly: true}},
		{"UNBLOCKED", redis.ErrUnblocked.New("x"), Tries{}, false, Decision{Action: RetryElsewhere, Refresh: true, MasterOnly: true}},
		{"a script that writes, on a replica", redis.ErrResult.New(nonLocal), Tries{OnReplica: true}, false, Decision{Action: RetryElsewhere, Refresh: true, MasterOnly: true}},
		{"a script that writes what another node has", redis.ErrResult.New(nonLocal), Tries{}, false, Decision{}},

		{"not connected", redisconn.ErrNotConnected.New("x"), Tries{}, false, elsewhere},
		{"dialing failed", redisconn.ErrDial.New("x"), Tries{}, false, elsewhere},
		{"handshake refused", redisconn.ErrAuth.New("x"), Tries{}, false, elsewhere},
		{"no node", noNode.New("x"), Tries{Retries: 1}, false, Decision{Action: RetryElsewhere, Refresh: true, Wait: 2 * time.Millisecond}},
		{"not connected too often", redisconn.ErrNotConnected.New("x"), spent, false, Decision{Refresh: true}},
		{"a read that ended unknown", lost, Tries{}, true, elsewhere},
		{"a read that ended unknown too often", lost, spent, true, Decision{Refresh: true}},
		{"a read that ended unknown too late", lost, Tries{Elapsed: MaxElapsed}, true, Decision{Refresh: true}},
		{"a write that ended unknown", lost, Tries{}, false, Decision{Refresh: true}},

		{"a server's error", redis.ErrResult.New("ERR x"), Tries{}, true, Decision{}},
		{"BUSY: a script runs for seconds", redis.ErrBusy.New("x"), Tries{}, true, Decision{}},
		{"WRONGTYPE", redis.ErrResult.New("WRONGTYPE x"), Tries{}, true, Decision{}},
		{"EXECABORT", redis.ErrExecAbort.New("x"), Tries{}, true, Decision{}},
		{"argument type", redis.ErrArgumentType.New("x"), Tries{}, true, Decision{}},
		{"malformed batch", redis.ErrBatchFormat.New("x"), Tries{}, true, Decision{}},
		{"forbidden", redis.ErrCommandForbidden.New("x"), Tries{}, true, Decision{}},
		{"several slots", redis.ErrNoSlotKey.New("x"), Tries{}, true, Decision{}},
		{"cancelled", redis.ErrRequestCancelled.New("x"), Tries{}, true, Decision{}},
		{"withdrawn", redis.ErrRequestWithdrawn.New("x"), Tries{}, true, Decision{}},
		{"queue full", redis.ErrQueueFull.New("x"), Tries{}, true, Decision{}},
		{"not a reply", redis.ErrResponseFormat.New("x"), Tries{}, true, Decision{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.want, Redirect(c.err, c.done, c.idempotent, l))
		})
	}
}

// TestRedirectEnds: whatever a server answers, a request comes to its end.
func TestRedirectEnds(t *testing.T) {
	l := Limits{MovedRetries: 10, WaitToMigrate: time.Millisecond}
	errs := []*errorx.Error{
		redirectTo(redis.ErrMoved, "a:1"), redirectTo(redis.ErrAsk, "a:1"), redis.ErrTryAgain.New("x"),
		redis.ErrClusterDown.New("x"), redis.ErrLoading.New("x"), redis.ErrReadOnly.New("x"), redis.ErrMasterDown.New("x"),
		redis.ErrIO.New("x"),
	}
	var done Tries
	steps := 0
	for ended := 0; ended < len(errs); {
		ended = 0
		for _, err := range errs {
			d := Redirect(err, done, true, l)
			if d.Action == Resolve {
				ended++
				continue
			}
			done = done.After(d)
			steps++
			require.LessOrEqual(t, steps, l.MovedRetries*(maxWaits+1)+maxRetries+maxWaits+maxDowns)
		}
	}
}

func TestTriesAfter(t *testing.T) {
	for a, want := range map[Action]Tries{
		Resolve:        {},
		FollowMoved:    {hops: 1},
		FollowAsk:      {hops: 1},
		RetryElsewhere: {Retries: 1},
		Repeat:         {downs: 1},
		AwaitMigration: {waits: 1},
	} {
		assert.Equal(t, want, Tries{}.After(Decision{Action: a}))
	}
	assert.Equal(t, Tries{waits: 2, Retries: 1}, Tries{hops: 3, waits: 1, Retries: 1}.After(Decision{Action: AwaitMigration}))
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
}
