package redismirror

import "github.com/joomcode/redispipe/redis"

// ErrMirror is the namespace of the errors of this package.
var ErrMirror = redis.Errors.NewSubNamespace("mirror")

var (
	// ErrSenders is returned by [New] if a sender is missing, or both are the same.
	ErrSenders = redis.ErrOpts.NewType("mirror_senders")
	// ErrShare is returned by [Mirror.CutOver] for a share that is not from 0 to 1. Nothing moves.
	ErrShare = redis.ErrOpts.NewType("mirror_share")
	// ErrBothSides is the error of a request that was not sent because one database decides for some of its
	// keys, and the other database for the others. A retry before the next CutOver returns the same error, so
	// [redis.WithRetry] does not retry.
	ErrBothSides = ErrMirror.NewType("both_sides", redis.ErrTraitNotSent)
	// ErrDifferent is returned by [Mirror.CutOver] if a key that is to move may be different on the two
	// databases: see [Mirror.Repair].
	ErrDifferent = ErrMirror.NewType("different")
)
