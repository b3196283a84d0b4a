package rediscluster

import (
	"strings"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/redisurl"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
)

// action is what to do with a request after an error.
type action uint8

const (
	// actResolve: the error is the result.
	actResolve action = iota
	// actElsewhere: route the request again, to another connection or node if there is one.
	actElsewhere
	// actAnotherNode: send the request at once to a node that has not refused it.
	actAnotherNode
	// actRepeat: route the request again.
	actRepeat
	// actAwaitMigration: route the request again after a pause, in which a migration makes progress.
	actAwaitMigration
	// actFollowMoved: send the request to the node that MOVED names, if the topology has that node.
	actFollowMoved
	// actFollowAsk: send ASKING and the request to the node that ASK names, if the topology has that
	// node.
	actFollowAsk
	// actions is the number of actions.
	actions
)

// decision is the result of [redirect].
type decision struct {
	Action action
	// Host and Port are the address of a redirect; an empty host means the server that answered.
	Host string
	Port int
	// Wait is the pause before the retry.
	Wait time.Duration
	// Refresh: read the topology again.
	Refresh bool
	// MasterOnly: only the master can answer the request.
	MasterOnly bool
}

// limits are the options that bound the decisions of [redirect].
type limits struct {
	// MovedRetries is the number of redirects that a request follows.
	MovedRetries int
	// WaitToMigrate is the pause before a request with moving keys is retried.
	WaitToMigrate time.Duration
}

// redirect decides where and when a request is sent again after an error. of is the nature of the
// request, which decides whether it may be sent again at all.
func redirect(err *errorx.Error, done tries, of send.Nature, l limits) decision {
	again, lost := of.After(err), err.HasTrait(redis.ErrTraitConnectivity)
	switch {
	case err.IsOfType(redis.ErrMoved):
		return redirected(err, done, l, decision{Action: actFollowMoved, Refresh: true})
	case err.IsOfType(redis.ErrAsk):
		return redirected(err, done, l, decision{Action: actFollowAsk})
	case done.OnReplica && isNonLocal(err):
		return retry(done, decision{Refresh: true, MasterOnly: true})
	case again == send.AgainCrowded:
		if done.refusals >= maxRefusals {
			return decision{}
		}
		return decision{Action: actAnotherNode}
	case again == send.AgainNever, ordered(err):
		return decision{Refresh: lost || err.IsOfType(redis.ErrRedirect)}
	case err.IsOfType(redis.ErrTryAgain):
		return whileMigrating(done, l)
	case err.IsOfType(redis.ErrClusterDown):
		// The node must first learn of the cluster's recovery, so even the first retry waits.
		if done.downs >= maxDowns || done.Elapsed >= maxElapsed {
			return decision{Refresh: true}
		}
		return decision{Action: actRepeat, Wait: downPause(done), Refresh: true, MasterOnly: done.OnReplica}
	case err.IsOfType(redis.ErrLoading):
		return retry(done, decision{Refresh: done.OnReplica, MasterOnly: done.OnReplica})
	case err.IsOfType(redis.ErrMasterDown):
		return retry(done, decision{Refresh: true, MasterOnly: !done.OnReplica}) // another replica may answer
	case err.IsOfType(redis.ErrReadOnly), err.IsOfType(redis.ErrRedirect), err.IsOfType(redis.ErrUnblocked):
		return retry(done, decision{Refresh: true, MasterOnly: true})
	case lost:
		return retry(done, decision{Refresh: true})
	}
	return decision{}
}

// ordered reports whether the error is of a request that was not sent and that must not be sent again
// alone, because it could overtake other requests of its batch.
func ordered(err *errorx.Error) bool {
	is, _ := err.Property(errs.EKOrdered)
	return is == true
}

// isNonLocal reports whether a server has refused a script because it uses a key of another node. A
// replica of Valkey 9 returns this error instead of READONLY if the script writes.
func isNonLocal(err *errorx.Error) bool {
	return err.IsOfType(redis.ErrResult) && strings.HasPrefix(err.Message(), "ERR Attempted to access a non local key")
}

// whileMigrating returns the decision to wait until a migration has made progress or a node is
// connected, if another wait is allowed.
func whileMigrating(done tries, l limits) decision {
	if done.waits >= maxWaits {
		return decision{}
	}
	return decision{Action: actAwaitMigration, Wait: l.WaitToMigrate}
}

// retry makes d a retry, if another retry is allowed.
func retry(done tries, d decision) decision {
	if done.Retries >= maxRetries || done.Elapsed >= maxElapsed {
		return decision{Refresh: d.Refresh}
	}
	d.Action, d.Wait = actElsewhere, backoff(done.Retries)
	return d
}

// unknownHost is the host of a node without a hostname in a cluster that uses hostnames.
const unknownHost = "?"

// redirected adds the target of the redirect to the decision. A malformed redirect, or one too many, is
// the result of the request.
func redirected(err *errorx.Error, done tries, l limits, d decision) decision {
	to, _ := err.Property(redis.EKMovedTo)
	endpoint, _ := to.(string)
	named, unknown := strings.CutPrefix(endpoint, unknownHost)
	host, port, ok := redisurl.ParseEndpoint(named)
	ok = ok && port != 0
	switch {
	case ok && unknown && d.Action == actFollowAsk:
		return whileMigrating(done, l) // an ASK without a host: not even a refresh would show the target
	case !ok || int(done.hops) >= l.MovedRetries:
		return decision{Refresh: ok && d.Refresh}
	case unknown:
		host = unknownHost // no topology has this host, so the request waits for a refresh
	}
	d.Host, d.Port = host, port
	return d
}

// tries counts the attempts for a request.
type tries struct {
	hops    uint8 // redirects followed since the last wait for a migration
	Retries uint8 // retries after failures
	waits   uint8 // repetitions after TRYAGAIN
	downs   uint8 // repetitions after CLUSTERDOWN
	// refusals counts how often the request was sent to another node because a node's queue had
	// refused it.
	refusals uint8
	// Elapsed is the time since the first failure.
	Elapsed time.Duration
	// Waiting is how many requests of the cluster wait for their next attempts.
	Waiting int64
	// OnReplica is set if the last error is a replica's.
	OnReplica bool
}

const (
	// maxRetries bounds the retries after failures. With backoff, a request gives up after about 200
	// ms: long enough for a new connection, and short enough to tell a caller that a shard is down.
	maxRetries = 8
	// maxElapsed is the time after which a failure is no longer retried, because with a frozen node
	// each attempt takes a whole time-out.
	maxElapsed = time.Second
	// maxDowns bounds the retries after CLUSTERDOWN. With backoff they take maxElapsed: when masters
	// hand over, a node does not know a slot's new master until that master pings it.
	maxDowns = 20
	// maxRefusals bounds how many other nodes are tried after a node's queue has refused a request: if
	// three queues are too long, the cluster is overloaded.
	maxRefusals = 2
	// maxWaits bounds the retries after TRYAGAIN: 1 s at the default pause, in which a migration moves
	// thousands of keys.
	maxWaits = 50

	backoffFirst = 2 * time.Millisecond
	backoffMost  = 64 * time.Millisecond
	// downMost is the longest pause after CLUSTERDOWN if many requests wait. When another master takes
	// over, the topology shows it, and ends the pauses.
	downMost = 256 * time.Millisecond
)

// backoff returns the pause before a retry. There is no pause before the first retry, which goes to
// another connection if there is one.
func backoff(retries uint8) time.Duration {
	if retries == 0 {
		return 0
	}
	return lifetime.DoubledPause(backoffFirst, backoffMost, int(retries)-1)
}

// downPause returns the pause after CLUSTERDOWN. While a cluster is down, its nodes refuse everything. To
// bound that load, the longest pause is a millisecond for each request that waits: at least backoffMost,
// and at most downMost.
func downPause(done tries) time.Duration {
	most := min(max(backoffMost, time.Duration(done.Waiting)*time.Millisecond), downMost)
	return lifetime.DoubledPause(backoffFirst, most, int(done.downs))
}

// After returns the tries after a decision.
func (t tries) After(d decision) tries {
	switch d.Action {
	case actFollowMoved, actFollowAsk:
		t.hops++
	case actElsewhere:
		t.Retries++
	case actAnotherNode:
		t.refusals++
	case actRepeat:
		t.downs++
	case actAwaitMigration:
		t.waits++
		t.hops = 0 // redirects are counted anew after the wait
	}
	return t
}
