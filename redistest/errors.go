package redistest

import "github.com/joomcode/redispipe/redis"

var errs = redis.Errors.NewSubNamespace("redistest")

var (
	// ErrNotSent is how a request ends for which Expectation.NotSent was called. It
	// has the traits of a connection that is down. Not sent: retry is safe.
	ErrNotSent = errs.NewType("not_sent", redis.ErrTraitNotSent, redis.ErrTraitConnectivity)
	// ErrUnexpected is how a request ends that no expectation matches. It has no
	// trait, so that nobody sends the request again.
	ErrUnexpected = errs.NewType("unexpected")
)
