package redispipe

import (
	"context"
	"slices"
	"sync"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
)

// Client is a client of one server, of a cluster, or of a master with replicas: see [Open].
// A Client is safe for concurrent use. Create one and share it.
//
// A Client is a [redis.Sender], so you can pass it to the functions of package redis, such as
// [redis.Keys] and [redis.NewGroupReader]. For any error, [redis.OutcomeOf] tells what happened
// to the request, and [redis.SafeToRetry] reports whether you may send it again.
type Client struct {
	sender redis.Sender // sends to the servers according to the policy, and calls hooks
	*shared
}

var _ redis.Sender = (*Client)(nil)

// shared is the state that a client shares with the clients that its WithPolicy returns.
type shared struct {
	servers servers
	pubsub  redispubsub.Opts // its Hooks are also called for requests
	// retried adds the retries of the client to a sender. Senders of all policies share one budget.
	retried func(redis.Sender) redis.Sender

	subscribing sync.Mutex // guards subscriber
	subscriber  *redispubsub.Subscriber
}

// with returns a client that sends according to policy.
func (s *shared) with(policy rediscluster.ReplicaPolicyEnum) *Client {
	sender := s.servers.withPolicy(policy)
	for _, hook := range slices.Backward(s.pubsub.Hooks) {
		sender = redis.WithHook(sender, hook)
	}
	return &Client{s.retried(sender), s}
}

// opened reports whether c came from Open.
func (c *Client) opened() bool { return c != nil && c.shared != nil }

// to returns the sender that c sends through, or [backend.Nobody] if c did not come from Open.
func (c *Client) to() redis.Sender {
	if !c.opened() {
		return backend.Nobody
	}
	return c.sender
}

// Do sends a command and returns its result, which is an *errorx.Error if the request
// failed: see [redis.Err] and [redis.As]. It returns early when ctx is
// done, like [redis.SyncCtx]. It does not retain the arguments.
func (c *Client) Do(ctx context.Context, cmd string, args ...any) any {
	return redis.SyncCtx{S: c.to()}.Do(ctx, cmd, args...)
}

// DoInto is like Do, but reads the reply into the variable that dst points to, which may have any
// type that [redis.As] accepts: see [redis.Sync.DoInto].
func (c *Client) DoInto(ctx context.Context, dst any, cmd string, args ...any) error {
	return redis.SyncCtx{S: c.to()}.DoInto(ctx, dst, cmd, args...)
}

// DoMany sends the requests as one batch and returns their results in order. Each result may
// be an error: see [redis.Collect].
func (c *Client) DoMany(ctx context.Context, reqs []redis.Request) []any {
	return redis.SyncCtx{S: c.to()}.SendMany(ctx, reqs)
}

// Transact sends requests between MULTI and EXEC and returns their results. If some of them
// failed, it also returns the first failure (a *redis.ResultError). If the transaction did not run,
// it returns no results and the reason: see [redis.Sync.Transact].
func (c *Client) Transact(ctx context.Context, reqs []redis.Request) ([]any, error) {
	return redis.SyncCtx{S: c.to()}.Transact(ctx, reqs)
}

// Watch runs an optimistic transaction: see [redis.Watch].
func (c *Client) Watch(ctx context.Context, keys []string, f func(*redis.Tx) error) ([]any, error) {
	return redis.Watch(ctx, c.to(), keys, f)
}

// Session calls f with a session, which has its own connection. In a cluster it is a connection to
// the master of key, or to any master if key is empty: see [redis.WithSession].
func (c *Client) Session(ctx context.Context, key string, f func(*redis.Session) error) error {
	return redis.WithSession(ctx, c.to(), key, f)
}

// Subscriber returns the client's subscriber, which the first call creates. It uses the
// client's hooks and logger, and is closed with the client. For a client that [Open] has not returned
// it returns nil, and subscribing fails.
func (c *Client) Subscriber() *redispubsub.Subscriber {
	if !c.opened() {
		return nil
	}
	c.subscribing.Lock()
	defer c.subscribing.Unlock()
	if c.subscriber == nil {
		c.subscriber = c.servers.subscribe(c.pubsub)
	}
	return c.subscriber
}

// Stats returns a snapshot of the client's statistics: in total and for each node.
func (c *Client) Stats() rediscluster.Stats {
	if !c.opened() {
		return rediscluster.Stats{}
	}
	return c.servers.stats()
}

// WithPolicy returns a client that reads from replicas as the policy allows. Both clients share
// all connections, and closing one closes the other. With one server the policy has no effect.
func (c *Client) WithPolicy(policy rediscluster.ReplicaPolicyEnum) *Client {
	if !c.opened() {
		return c
	}
	return c.with(policy)
}

// Connection returns the connection of a client of one server, or nil for several servers. It also
// returns nil for a client that [Open] has not returned.
func (c *Client) Connection() *redisconn.Connection {
	if !c.opened() {
		return nil
	}
	single, _ := c.servers.(oneServer)
	return single.Connection
}

// Cluster returns the cluster (of nodes, or of a master with replicas) of a client of several
// servers, or nil for one server. It also returns nil for a client that [Open] has not returned.
func (c *Client) Cluster() *rediscluster.Cluster {
	if !c.opened() {
		return nil
	}
	many, _ := c.servers.(manyServers)
	return many.Cluster
}

// Reauthenticate asks CredentialsProvider for new credentials, and sends them on all open
// connections. No request fails because of it: see [redisconn.Connection.Reauthenticate] and
// [rediscluster.Cluster.Reauthenticate]. Calling it again is safe.
func (c *Client) Reauthenticate(ctx context.Context) error {
	if !c.opened() {
		return redis.Err(errs.NoSender())
	}
	return c.servers.Reauthenticate(ctx)
}

// Shutdown closes the subscriber and refuses new requests (with [redis.ErrContextClosed], not
// sent). It waits until the accepted requests are answered or ctx is done, and then closes the
// client. If ctx is done first, the error says how many requests were left.
func (c *Client) Shutdown(ctx context.Context) error {
	if ctx == nil {
		return redis.Err(errs.NilContext())
	}
	if !c.opened() {
		return nil
	}
	c.subscribing.Lock()
	if c.subscriber != nil {
		c.subscriber.Close()
	}
	c.subscribing.Unlock()
	return c.servers.Shutdown(ctx)
}

// Close closes the client and its subscriber. It does not wait: requests that were not written
// fail with [redis.ErrContextClosed], and requests in flight with [redis.ErrIO]. Close does nothing if c
// is nil, because Open returns nil with an error.
func (c *Client) Close() {
	if c.opened() {
		c.servers.Close()
	}
}

// Send implements [redis.Sender].
func (c *Client) Send(r redis.Request, cb redis.Future, n uint64) { c.to().Send(r, cb, n) }

// SendMany implements [redis.Sender]: it does not wait. See [Client.DoMany].
func (c *Client) SendMany(reqs []redis.Request, cb redis.Future, start uint64) {
	c.to().SendMany(reqs, cb, start)
}

// SendTransaction implements [redis.Sender]: it does not wait. See [Client.Transact].
func (c *Client) SendTransaction(reqs []redis.Request, cb redis.Future, start uint64) {
	c.to().SendTransaction(reqs, cb, start)
}

// Scanner implements [redis.Sender]. See [redis.Keys] for a loop.
func (c *Client) Scanner(opts redis.ScanOpts) redis.Scanner { return c.to().Scanner(opts) }

// EachShard implements [redis.Sender].
func (c *Client) EachShard(f func(redis.Sender, error) bool) { c.to().EachShard(f) }

func init() {
	send.Opens(func(sender any) (inside any, known bool) {
		c, known := sender.(*Client)
		if !c.opened() {
			return nil, known
		}
		return c.sender, true
	})
}
