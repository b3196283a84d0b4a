package topology

import (
	"time"

	"github.com/joomcode/redispipe/internal/pause"
)

// Tries counts what was done for a request.
type Tries struct {
	hops    uint8 // redirects followed since the last wait for a migration
	Retries uint8 // retries after failures
	waits   uint8 // repetitions after TRYAGAIN
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
	case RetryElsewhere, Repeat:
		t.Retries++
	case AwaitMigration:
		t.waits++
		t.hops = 0 // redirects to where TRYAGAIN came from are counted from zero
	}
	return t
}
