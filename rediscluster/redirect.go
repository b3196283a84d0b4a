package rediscluster

import (
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
	"github.com/joomcode/redispipe/redisconn"
)

// action is what becomes of a request that ended with an error.
type action uint8

const (
	// resolveIt: the error is the result.
	resolveIt action = iota
	// retryElsewhere: by the topology, but another connection or node if there is one.
	retryElsewhere
	// repeatIt: by the topology, again.
	repeatIt
	// awaitMigration is repeatIt where a migration has to go on first.
	awaitMigration
	// followMoved: to the node that MOVED named, if the topology confirms it.
	followMoved
	// followAsk: the same with ASK, and ASKING.
	followAsk
)

// decision is what redirect decides.
type decision struct {
	action action
	// host and port are where to follow; an empty host is the one that answered.
	host string
	port int
	// wait is how long to wait before.
	wait time.Duration
	// refresh: the topology is to be read again.
	refresh bool
	// masterOnly: a replica can't answer this.
	masterOnly bool
}

// tries counts what was done for a request.
type tries struct {
	hops    uint8 // redirects followed since the last wait for a migration
	retries uint8 // retries after failures
	waits   uint8 // repetitions after TRYAGAIN
	// elapsed is the time since the first failure.
	elapsed time.Duration
}

// limits are the options that redirect needs.
type limits struct {
	movedRetries  int
	waitToMigrate time.Duration
}

const (
	// maxRetries bounds the retries after failures. With backoff, a request
	// gives up after some 200 ms: enough for a connection to be made again, and
	// little enough for a caller to hear of a shard that is gone.
	maxRetries = 8
	// maxElapsed is after how long a failure is not retried any more: a node
	// that is frozen takes a time-out for each attempt.
	maxElapsed = time.Second
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
	return min(backoffFirst<<min(retries-1, 10), backoffMost)
}

// redirect decides what becomes of a request that ended with err. idempotent is
// whether the request does no harm if it runs twice. It does nothing.
func redirect(err *errorx.Error, done tries, idempotent bool, l limits) decision {
	switch {
	case err.IsOfType(redis.ErrMoved):
		return redirected(err, done, l, decision{action: followMoved, refresh: true})
	case err.IsOfType(redis.ErrAsk):
		return redirected(err, done, l, decision{action: followAsk})
	case err.IsOfType(redis.ErrTryAgain):
		return whileMigrating(done, l)
	case err.IsOfType(redis.ErrClusterDown):
		// The node learns of the cluster's recovery by itself, so even the
		// first repetition waits.
		return retry(done, decision{action: repeatIt, wait: backoff(done.retries + 1), refresh: true})
	case err.IsOfType(redis.ErrLoading):
		return retry(done, decision{action: retryElsewhere, wait: backoff(done.retries)})
	case err.IsOfType(redis.ErrReadOnly), err.IsOfType(redis.ErrMasterDown):
		return retry(done, decision{action: retryElsewhere, wait: backoff(done.retries), refresh: true, masterOnly: true})
	case err.IsOfType(redis.ErrContextClosed), err.IsOfType(ErrNoAliveConnection), redisconn.ErrConnection.IsNamespaceOf(err.Type()):
		return retry(done, decision{action: retryElsewhere, wait: backoff(done.retries), refresh: true})
	case err.IsOfType(redis.ErrIO):
		if !idempotent {
			return decision{refresh: true}
		}
		return retry(done, decision{action: retryElsewhere, wait: backoff(done.retries), refresh: true})
	}
	return decision{}
}

// whileMigrating returns the decision for a migration that has to go on first.
func whileMigrating(done tries, l limits) decision {
	if done.waits >= maxWaits {
		return decision{}
	}
	return decision{action: awaitMigration, wait: l.waitToMigrate}
}

// retry returns the decision if the request may be retried once more.
func retry(done tries, d decision) decision {
	if done.retries >= maxRetries || done.elapsed >= maxElapsed {
		return decision{refresh: d.refresh}
	}
	return d
}

// redirected adds to the decision where the redirect leads. One that is malformed,
// or one too many, is the result.
func redirected(err *errorx.Error, done tries, l limits, d decision) decision {
	to, _ := err.Property(redis.EKMovedTo)
	endpoint, _ := to.(string)
	host, port, ok := redisclusterutil.ParseEndpoint(endpoint)
	if !ok || int(done.hops) >= l.movedRetries {
		return decision{refresh: ok && d.refresh}
	}
	d.host, d.port = host, port
	return d
}

// count returns the tries after the decision.
func (d decision) count(done tries) tries {
	switch d.action {
	case followMoved, followAsk:
		done.hops++
	case retryElsewhere, repeatIt:
		done.retries++
	case awaitMigration:
		done.waits++
		done.hops = 0 // redirects to where TRYAGAIN came from are counted from zero
	}
	return done
}
