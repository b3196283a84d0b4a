package rediscluster

import (
	"testing"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

func redirectTo(typ *errorx.Type, addr any) *errorx.Error {
	return typ.New("x").WithProperty(redis.EKMovedTo, addr).WithProperty(redis.EKSlot, int64(1))
}

// TestRedirect has a row for each retry rule.
func TestRedirect(t *testing.T) {
	l := limits{MovedRetries: 3, WaitToMigrate: 20 * time.Millisecond}
	moved := decision{Action: actFollowMoved, Host: "10.0.0.1", Port: 7000, Refresh: true}
	ask := decision{Action: actFollowAsk, Host: "10.0.0.1", Port: 7000}
	elsewhere := decision{Action: actElsewhere, Refresh: true}
	spent := tries{Retries: maxRetries}
	lost := redis.ErrIO.New("x")
	const nonLocal = "ERR Attempted to access a non local key in a cluster node"
	noNode := redis.Errors.NewType("no_node_of_a_test", redis.ErrTraitNotSent, redis.ErrTraitConnectivity)
	cases := []struct {
		name       string
		err        *errorx.Error
		done       tries
		idempotent bool
		want       decision
	}{
		{"MOVED", redirectTo(redis.ErrMoved, "10.0.0.1:7000"), tries{}, false, moved},
		{"MOVED, last hop", redirectTo(redis.ErrMoved, "10.0.0.1:7000"), tries{hops: 2}, false, moved},
		{"MOVED, one hop too many", redirectTo(redis.ErrMoved, "10.0.0.1:7000"), tries{hops: 3}, false, decision{Refresh: true}},
		{"MOVED by the host that answered", redirectTo(redis.ErrMoved, ":7001"), tries{}, false, decision{Action: actFollowMoved, Port: 7001, Refresh: true}},
		{"MOVED to IPv6", redirectTo(redis.ErrMoved, "2001:db8::1:65535"), tries{}, false, decision{Action: actFollowMoved, Host: "2001:db8::1", Port: 65535, Refresh: true}},
		{"MOVED to a hostname", redirectTo(redis.ErrMoved, "a.example:7000"), tries{}, false, decision{Action: actFollowMoved, Host: "a.example", Port: 7000, Refresh: true}},
		{"MOVED, malformed", redirectTo(redis.ErrMoved, "foo"), tries{}, false, decision{}},
		{"MOVED to port 0", redirectTo(redis.ErrMoved, "10.0.0.1:0"), tries{}, false, decision{}},
		{"MOVED to nowhere", redis.ErrMoved.New("x"), tries{}, false, decision{}},
		{"MOVED with a wrong property", redirectTo(redis.ErrMoved, 7), tries{}, false, decision{}},
		{"MOVED to an unknown host", redirectTo(redis.ErrMoved, "?:7000"), tries{}, false, decision{Action: actFollowMoved, Host: "?", Port: 7000, Refresh: true}},
		{"MOVED to an unknown host, one hop too many", redirectTo(redis.ErrMoved, "?:7000"), tries{hops: 3}, false, decision{Refresh: true}},
		{"MOVED to an unknown host, malformed", redirectTo(redis.ErrMoved, "?:0"), tries{}, false, decision{}},
		{"ASK to an unknown host", redirectTo(redis.ErrAsk, "?:7000"), tries{}, false, decision{Action: actAwaitMigration, Wait: l.WaitToMigrate}},
		{"ASK", redirectTo(redis.ErrAsk, "10.0.0.1:7000"), tries{}, false, ask},
		{"ASK, one hop too many", redirectTo(redis.ErrAsk, "10.0.0.1:7000"), tries{hops: 3}, false, decision{}},
		{"ASK, malformed", redirectTo(redis.ErrAsk, "foo"), tries{}, false, decision{}},
		{"a redirect without a slot", redis.ErrResponseFormat.New("malformed redirect"), tries{}, true, decision{}},

		{"TRYAGAIN", redis.ErrTryAgain.New("x"), tries{}, false, decision{Action: actAwaitMigration, Wait: 20 * time.Millisecond}},
		{"TRYAGAIN after retries", redis.ErrTryAgain.New("x"), spent, false, decision{Action: actAwaitMigration, Wait: 20 * time.Millisecond}},
		{"TRYAGAIN too often", redis.ErrTryAgain.New("x"), tries{waits: maxWaits}, false, decision{}},
		{"CLUSTERDOWN", redis.ErrClusterDown.New("x"), tries{}, false, decision{Action: actRepeat, Wait: 2 * time.Millisecond, Refresh: true}},
		{"CLUSTERDOWN after retries", redis.ErrClusterDown.New("x"), tries{Retries: maxRetries, downs: 9}, false, decision{Action: actRepeat, Wait: 64 * time.Millisecond, Refresh: true}},
		{"CLUSTERDOWN while few wait", redis.ErrClusterDown.New("x"), tries{downs: 9, Waiting: 64}, false, decision{Action: actRepeat, Wait: 64 * time.Millisecond, Refresh: true}},
		{"CLUSTERDOWN while more wait", redis.ErrClusterDown.New("x"), tries{downs: 9, Waiting: 200}, false, decision{Action: actRepeat, Wait: 200 * time.Millisecond, Refresh: true}},
		{"CLUSTERDOWN while many wait", redis.ErrClusterDown.New("x"), tries{downs: 9, Waiting: maxWaiting}, false, decision{Action: actRepeat, Wait: downMost, Refresh: true}},
		{"CLUSTERDOWN once while many wait", redis.ErrClusterDown.New("x"), tries{downs: 1, Waiting: maxWaiting}, false, decision{Action: actRepeat, Wait: 4 * time.Millisecond, Refresh: true}},
		{"CLUSTERDOWN too often", redis.ErrClusterDown.New("x"), tries{downs: maxDowns}, false, decision{Refresh: true}},
		{"CLUSTERDOWN too late", redis.ErrClusterDown.New("x"), tries{Elapsed: maxElapsed}, false, decision{Refresh: true}},
		{"CLUSTERDOWN, of a replica", redis.ErrClusterDown.New("x"), tries{OnReplica: true}, false, decision{Action: actRepeat, Wait: 2 * time.Millisecond, Refresh: true, MasterOnly: true}},
		{"LOADING", redis.ErrLoading.New("x"), tries{}, false, decision{Action: actElsewhere}},
		{"LOADING, of a replica", redis.ErrLoading.New("x"), tries{OnReplica: true}, false, decision{Action: actElsewhere, Refresh: true, MasterOnly: true}},
		{"LOADING again", redis.ErrLoading.New("x"), tries{Retries: 3}, false, decision{Action: actElsewhere, Wait: 8 * time.Millisecond}},
		{"LOADING too often", redis.ErrLoading.New("x"), spent, false, decision{}},
		{"READONLY", redis.ErrReadOnly.New("x"), tries{}, false, decision{Action: actElsewhere, Refresh: true, MasterOnly: true}},
		{"REDIRECT", redis.ErrRedirect.New("x"), tries{}, false, decision{Action: actElsewhere, Refresh: true, MasterOnly: true}},
		{"MASTERDOWN, of a replica", redis.ErrMasterDown.New("x"), tries{OnReplica: true}, false, decision{Action: actElsewhere, Refresh: true}},
		{"MASTERDOWN", redis.ErrMasterDown.New("x"), tries{}, false, decision{Action: actElsewhere, Refresh: true, MasterOnly: true}},
		{"UNBLOCKED", redis.ErrUnblocked.New("x"), tries{}, false, decision{Action: actElsewhere, Refresh: true, MasterOnly: true}},
		{"a script that writes, on a replica", redis.ErrResult.New(nonLocal), tries{OnReplica: true}, false, decision{Action: actElsewhere, Refresh: true, MasterOnly: true}},
		{"a script that writes what another node has", redis.ErrResult.New(nonLocal), tries{}, false, decision{}},

		{"not connected", redisconn.ErrNotConnected.New("x"), tries{}, false, elsewhere},
		{"dialing failed", redisconn.ErrDial.New("x"), tries{}, false, elsewhere},
		{"handshake refused", redisconn.ErrAuth.New("x"), tries{}, false, elsewhere},
		{"a part of a batch that was not sent", noNode.New("x").WithProperty(errs.EKOrdered, true), tries{}, true, decision{Refresh: true}},
		{"no node", noNode.New("x"), tries{Retries: 1}, false, decision{Action: actElsewhere, Refresh: true, Wait: 2 * time.Millisecond}},
		{"not connected too often", redisconn.ErrNotConnected.New("x"), spent, false, decision{Refresh: true}},
		{"a read that ended unknown", lost, tries{}, true, elsewhere},
		{"a read that ended unknown too often", lost, spent, true, decision{Refresh: true}},
		{"a read that ended unknown too late", lost, tries{Elapsed: maxElapsed}, true, decision{Refresh: true}},
		{"a write that ended unknown", lost, tries{}, false, decision{Refresh: true}},

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
		{"queue full", redis.ErrQueueFull.New("x"), tries{}, true, decision{Action: actAnotherNode}},
		{"queue full, of a write", redis.ErrQueueFull.New("x"), spent, false, decision{Action: actAnotherNode}},
		{"overloaded", redis.ErrOverloaded.New("x"), tries{refusals: 1}, true, decision{Action: actAnotherNode}},
		{"overloaded too often", redis.ErrOverloaded.New("x"), tries{refusals: 2}, true, decision{}},
		{"not a reply", redis.ErrResponseFormat.New("x"), tries{}, true, decision{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.want, redirect(c.err, c.done, send.Nature{Twice: c.idempotent}, l))
		})
	}
	forged := redirect(redis.ErrRedirect.New("x"), tries{}, send.Nature{Code: true}, l)
	assert.Equal(t, decision{Refresh: true}, forged, "REDIRECT, which a script may have returned")
}

// TestRedirectEnds: a request ends, no matter what a server answers.
func TestRedirectEnds(t *testing.T) {
	l := limits{MovedRetries: 10, WaitToMigrate: time.Millisecond}
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
			d := redirect(err, done, send.Nature{Twice: true}, l)
			if d.Action == actResolve {
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
	for a, want := range map[action]tries{
		actResolve:        {},
		actFollowMoved:    {hops: 1},
		actFollowAsk:      {hops: 1},
		actElsewhere:      {Retries: 1},
		actAnotherNode:    {refusals: 1},
		actRepeat:         {downs: 1},
		actAwaitMigration: {waits: 1},
	} {
		assert.Equal(t, want, tries{}.After(decision{Action: a}))
	}
	assert.Equal(t, tries{waits: 2, Retries: 1}, tries{hops: 3, waits: 1, Retries: 1}.After(decision{Action: actAwaitMigration}))
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
