package redispipe

import (
	"log/slog"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
)

// Option is an option of [Open]. [Hooks] and [Logger] are what most programs need; [Conn]
// and [Cluster] give access to all others.
type Option func(*config)

// Hooks calls hooks around the operations of the client and of its subscriber, the first one
// outermost: see [redis.WithHook].
func Hooks(hooks ...redis.Hook) Option {
	return func(c *config) { c.pubsub.Hooks = append(c.pubsub.Hooks, hooks...) }
}

// Logger writes the events of the client and of its subscriber to l; nil is silent. See
// [redisconn.NewSlogLogger]. Default: the standard logger.
func Logger(l *slog.Logger) Option {
	return func(c *config) {
		c.logger, c.opts.Logger = redisconn.NewSlogLogger(l), rediscluster.NewSlogLogger(l)
		c.pubsub.Logger = redispubsub.NewSlogLogger(l)
	}
}

// Conn sets options of the connections to servers, such as TLSConfig or
// CredentialsProvider. set gets what the URL says.
func Conn(set func(*redisconn.Opts)) Option {
	return func(c *config) {
		if set != nil {
			set(&c.opts.HostOpts)
		}
	}
}

// Cluster sets options of a client of several servers, such as Zone or SentinelOpts. set
// gets what the URL says. With one server they have no effect.
func Cluster(set func(*rediscluster.Opts)) Option {
	return func(c *config) {
		if set != nil {
			set(&c.opts)
		}
	}
}
