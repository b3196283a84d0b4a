package redistest

import "github.com/joomcode/redispipe/redis"

var errs = redis.Errors.NewSubNamespace("redistest")

var (
	// ErrNotSent is the error of a request after Expectation.NotSent. It
	// has the traits of a connection that is down. Not sent: a retry is safe.
	ErrNotSent = errs.NewType("not_sent", redis.ErrTraitNotSent, redis.ErrTraitConnectivity)
	// ErrUnexpected is the error of a request that no expectation matches. It has no
	// trait, so that code under test does not retry.
	ErrUnexpected = errs.NewType("unexpected")
)
