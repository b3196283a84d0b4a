package redispipe

import (
	"context"
	"log/slog"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/redisurl"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
)

// Open returns a client of the servers that a URL names:
//
//	redis://user:password@host:6379/0                 one server
//	unix:///path/to/socket?db=1                       one server
//	redis-cluster://node1:7000,node2:7000             a cluster, given some of its nodes
//	redis://node1:7000?addr=node2:7000                the same: several addresses
//	redis-sentinel://sentinel1,sentinel2/mymaster/0   a master that sentinels watch
//	redis://sentinel1?master_name=mymaster            the same, as go-redis writes it
//	redis-replicated://primary:6379,reader:6379/0     a master and its replicas
//	redis-replicated://endpoint:6379                  a master, wherever its address leads
//
// The schemes rediss://, rediss-cluster://, rediss-sentinel:// and rediss-replicated:// use TLS.
// See [redisconn.ParseURL] for the parameters, such as read_timeout=2s. For an invalid URL, Open
// returns a [redis.ErrURL], which does not show the URL.
//
// If a request can't be sent now, it waits until it can be sent, up to the deadline of its context,
// or for 3 s without one. A read with an unknown outcome is sent again. See [redis.WithRetry] and
// [Retry].
//
// ctx limits only the call to Open: the client lives until [Client.Close] or [Client.Shutdown]. For
// one server, Open returns an error only for failures that retrying cannot fix (wrong password,
// untrusted certificate). If the server is down, the client keeps dialing, and requests wait until
// it connects. For several servers, Open also returns an error if none of them reports which ones
// are the masters: see [rediscluster.NewCluster], [rediscluster.NewSentinel] and
// [rediscluster.NewReplicated].
func Open(ctx context.Context, url string, opts ...Option) (*Client, error) {
	if ctx == nil {
		return nil, redis.Err(errs.NilContext())
	}
	if ctx.Err() != nil {
		return nil, redis.Err(redis.ErrContextClosed.Wrap(lifetime.Reason(ctx), "the context has ended"))
	}
	c, err := configOf(url)
	if err != nil {
		return nil, redis.Err(err)
	}
	for _, opt := range opts {
		if opt != nil {
			opt(c)
		}
	}
	s, err := c.open(lifetime.Making(ctx))
	if err != nil {
		return nil, redis.Err(err)
	}
	return (&shared{servers: s, pubsub: c.pubsub, retried: retriesOf(s, c.retries)}).with(rediscluster.MasterOnly), nil
}

// retriesOf returns a function that adds retries to a sender of these servers.
func retriesOf(s servers, opts redis.RetryOpts) func(redis.Sender) redis.Sender {
	if r, ok := redis.WithRetry(s.withPolicy(rediscluster.MasterOnly), opts).(interface {
		Unhook() (redis.Sender, func(redis.Sender) redis.Sender)
	}); ok {
		_, retried := r.Unhook()
		return retried
	}
	return func(s redis.Sender) redis.Sender { return s } // with NoRetry
}

// config is the result of a URL and options.
type config struct {
	opts    rediscluster.Opts // for one server, only HostOpts count
	logger  redisconn.Logger  // the logger for one server
	pubsub  redispubsub.Opts
	retries redis.RetryOpts
	open    func(making context.Context) (servers, error)
}

// configOf parses a URL.
func configOf(url string) (*config, error) {
	u, err := redisurl.Parse(url)
	if err != nil {
		return nil, err
	}
	c := &config{}
	var addrs []string
	switch {
	case u.Sentinel:
		var master string
		addrs, master, c.opts, err = rediscluster.ParseSentinelURL(url)
		c.open = func(making context.Context) (servers, error) {
			return madeOf(rediscluster.NewSentinel(making, addrs, master, c.opts))
		}
	case u.Replicated:
		addrs, c.opts, err = rediscluster.ParseReplicatedURL(url)
		c.open = func(making context.Context) (servers, error) {
			return madeOf(rediscluster.NewReplicated(making, addrs, c.opts))
		}
	case u.Cluster || len(u.Addrs) > 1:
		addrs, c.opts, err = rediscluster.ParseURL(url)
		c.open = func(making context.Context) (servers, error) {
			return madeOf(rediscluster.NewCluster(making, addrs, c.opts))
		}
	default:
		var addr string
		addr, c.opts.HostOpts, err = redisconn.ParseURL(url)
		c.open = func(making context.Context) (servers, error) { return c.connect(making, addr) }
	}
	return c, err
}

func madeOf(c *rediscluster.Cluster, err error) (servers, error) {
	if err != nil {
		return nil, err
	}
	return manyServers{c}, nil
}

func (c *config) connect(making context.Context, addr string) (servers, error) {
	opts := c.opts.HostOpts
	if opts.Logger == nil {
		opts.Logger = c.logger
	}
	conn, err := redisconn.Connect(making, addr, opts)
	if err != nil {
		return nil, err
	}
	return oneServer{conn}, nil
}

// Option is an option of [Open]. Most programs need only [Hooks] and [Logger]; [Conn]
// and [Cluster] set all others.
type Option func(*config)

// Hooks sets hooks that are called around the operations of the client and of its subscriber. The
// first hook is the outermost: see [redis.WithHook].
func Hooks(hooks ...redis.Hook) Option {
	return func(c *config) { c.pubsub.Hooks = append(c.pubsub.Hooks, hooks...) }
}

// Retry sets for how long the client sends a failed request again and waits for a connection. See
// [redis.WithRetry], also for the default. [redis.NoRetry] turns retries off. A request with a
// future is always sent once.
func Retry(opts redis.RetryOpts) Option { return func(c *config) { c.retries = opts } }

// Logger makes the client and its subscriber log their events to l, or nothing if l is nil. See
// [redisconn.NewSlogLogger]. Default: the standard logger.
func Logger(l *slog.Logger) Option {
	return func(c *config) {
		c.logger, c.opts.Logger = redisconn.NewSlogLogger(l), rediscluster.NewSlogLogger(l)
		c.pubsub.Logger = redispubsub.NewSlogLogger(l)
	}
}

// Conn sets options of the connections to servers, such as TLSConfig or
// CredentialsProvider. set gets the options from the URL.
func Conn(set func(*redisconn.Opts)) Option {
	return func(c *config) {
		if set != nil {
			set(&c.opts.HostOpts)
		}
	}
}

// Cluster sets options of a client of several servers, such as Zone or SentinelOpts. set
// gets the options from the URL. With one server they have no effect.
func Cluster(set func(*rediscluster.Opts)) Option {
	return func(c *config) {
		if set != nil {
			set(&c.opts)
		}
	}
}
