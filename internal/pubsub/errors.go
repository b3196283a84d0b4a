package pubsub

import "github.com/joomcode/redispipe/redis"

// Errors that package redispubsub exports, and explains.
var (
	Errors     = redis.Errors.NewSubNamespace("pubsub")
	ErrRefused = Errors.NewType("refused")
	ErrClosed  = Errors.NewType("closed")
	ErrFull    = Errors.NewType("buffer_full")
	ErrNoNodes = Errors.NewType("no_nodes")
	ErrStream  = Errors.NewType("stream", redis.ErrTraitConnectivity)
)

// Passes reports whether what the server said of a topic passes by itself.
func Passes(err error) bool {
	e := redis.AsErrorx(err)
	return e.HasTrait(redis.ErrTraitTransient) || e.HasTrait(redis.ErrTraitClusterMove)
}
