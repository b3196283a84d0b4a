package topology

import (
	"strings"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/pause"
	"github.com/joomcode/redispipe/internal/redisurl"
	"github.com/joomcode/redispipe/redis"
)

// Action is what becomes of a request that ended with an error.
type Action uint8

const (
	// Resolve: the error is the result.
	Resolve Action = iota
	// RetryElsewhere: by the topology, but another connection or node if there is one.
	RetryElsewhere
	// Repeat: by the topology, again.
	Repeat
	// AwaitMigration is Repeat where a migration has to go on first.
	AwaitMigration
	// FollowMoved: to the node that MOVED named, if the topology confirms it.
	FollowMoved
	// FollowAsk: the same with ASK, and ASKING.
	FollowAsk
	// Actions is how many there are.
	Actions
)

// Decision is what [Redirect] decides.
type Decision struct {
	Action Action
	// Host and Port are where to follow; an empty host is the one that answered.
	Host string
	Port int
	// Wait is how long to wait before.
	Wait time.Duration
	// Refresh: the topology is to be read again.
	Refresh bool
	// MasterOnly: a replica can't answer this.
	MasterOnly bool
}

// Limits are the options that [Redirect] goes by.
type Limits struct {
	// MovedRetries is how many redirects a request follows.
	MovedRetries int
	// WaitToMigrate is the pause before a request whose keys are on the move is repeated.
	WaitToMigrate time.Duration
}

// Redirect decides what becomes of a request that ended with err. idempotent is whether
// the request does no harm if it runs twice.
func Redirect(err *errorx.Error, done Tries, idempotent bool, l Limits) Decision {
	switch {
	case err.IsOfType(redis.ErrMoved):
		return redirected(err, done, l, Decision{Action: FollowMoved, Refresh: true})
	case err.IsOfType(redis.ErrAsk):
		return redirected(err, done, l, Decision{Action: FollowAsk})
	case err.IsOfType(redis.ErrTryAgain):
		return WhileMigrating(done, l)
	case err.IsOfType(redis.ErrClusterDown):
		// The node learns of the cluster's recovery by itself, so even the
		// first repetition waits.
		if done.downs >= maxDowns || done.Elapsed >= MaxElapsed {
			return Decision{Refresh: true}
		}
		return Decision{Action: Repeat, Wait: backoff(done.downs + 1), Refresh: true, MasterOnly: done.OnReplica}
	case err.IsOfType(redis.ErrLoading):
		return retry(done, Decision{Refresh: done.OnReplica, MasterOnly: done.OnReplica})
	case err.IsOfType(redis.ErrMasterDown):
		return retry(done, Decision{Refresh: true, MasterOnly: !done.OnReplica}) // another replica may answer
	case err.IsOfType(redis.ErrReadOnly), err.IsOfType(redis.ErrUnblocked), done.OnReplica && isNonLocal(err):
		return retry(done, Decision{Refresh: true, MasterOnly: true})
	case err.HasTrait(redis.ErrTraitNotSent) && err.HasTrait(redis.ErrTraitConnectivity),
		err.IsOfType(redis.ErrIO) && idempotent:
		// No connection has taken it, or it may run twice.
		return retry(done, Decision{Refresh: true})
	case err.IsOfType(redis.ErrIO):
		return Decision{Refresh: true}
	}
	return Decision{}
}

// isNonLocal reports whether a script was refused that uses a key of another node. A replica of
// Valkey 9 says so, and not READONLY, if the script writes.
func isNonLocal(err *errorx.Error) bool {
	return err.IsOfType(redis.ErrResult) && strings.HasPrefix(err.Message(), "ERR Attempted to access a non local key")
}

// WhileMigrating returns the decision for a migration that has to go on first, or a node that has
// to be connected.
func WhileMigrating(done Tries, l Limits) Decision {
	if done.waits >= maxWaits {
		return Decision{}
	}
	return Decision{Action: AwaitMigration, Wait: l.WaitToMigrate}
}

// retry adds to the decision that the request is sent again, if it may be retried once more.
func retry(done Tries, d Decision) Decision {
	if done.Retries >= maxRetries || done.Elapsed >= MaxElapsed {
		return Decision{Refresh: d.Refresh}
	}
	d.Action, d.Wait = RetryElsewhere, backoff(done.Retries)
	return d
}

// unknownHost is the host of a node without a hostname in a cluster that names nodes by those.
const unknownHost = "?"

// redirected adds to the decision where the redirect leads. One that is malformed,
// or one too many, is the result.
func redirected(err *errorx.Error, done Tries, l Limits, d Decision) Decision {
	to, _ := err.Property(redis.EKMovedTo)
	endpoint, _ := to.(string)
	named, unknown := strings.CutPrefix(endpoint, unknownHost)
	host, port, ok := redisurl.ParseEndpoint(named)
	ok = ok && port != 0
	switch {
	case ok && unknown && d.Action == FollowAsk:
		return WhileMigrating(done, l) // to where nobody can tell
	case !ok || int(done.hops) >= l.MovedRetries:
		return Decision{Refresh: ok && d.Refresh}
	case unknown:
		host = unknownHost // no topology has it, so the request goes by the next one
	}
	d.Host, d.Port = host, port
	return d
}

// Tries counts what was done for a request.
type Tries struct {
	hops    uint8 // redirects followed since the last wait for a migration
	Retries uint8 // retries after failures
	waits   uint8 // repetitions after TRYAGAIN
	downs   uint8 // repetitions after CLUSTERDOWN
	// Elapsed is the time since the first failure.
	Elapsed time.Duration
	// OnReplica is set if the last error is a replica's.
	OnReplica bool
}

const (
	// maxRetries bounds the retries after failures. With backoff, a request
	// gives up after some 200 ms: enough for a connection to be made again, and
	// short enough for a caller to hear of a shard that is down.
	maxRetries = 8
	// MaxElapsed is after how long a failure is not retried any more: a node
	// that is frozen takes a time-out for each attempt.
	MaxElapsed = time.Second
	// maxDowns bounds the repetitions after CLUSTERDOWN. With backoff they take MaxElapsed:
	// when masters hand over, a node may lack a slot's new one until that pings it, which
	// on busy machines was 300 ms later.
	maxDowns = 20
	// maxWaits bounds the repetitions after TRYAGAIN: 1 s at the default pause,
	// in which a migration moves thousands of keys.
	maxWaits = 50

	backoffFirst = 2 * time.Millisecond
	backoffMost  = 64 * time.Millisecond
)

// backoff is the pause before a retry: none before the first, which goes to
// another connection if there is one.
func backoff(retries uint8) time.Duration {
	if retries == 0 {
		return 0
	}
	return pause.Doubled(backoffFirst, backoffMost, int(retries)-1)
}

// After returns the tries with what was decided next.
func (t Tries) After(d Decision) Tries {
	switch d.Action {
	case FollowMoved, FollowAsk:
		t.hops++
	case RetryElsewhere:
		t.Retries++
	case Repeat:
		t.downs++
	case AwaitMigration:
		t.waits++
		t.hops = 0 // redirects to where TRYAGAIN came from are counted from zero
	}
	return t
}
