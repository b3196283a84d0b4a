package redispipe

import (
	"context"
	"slices"
	"sync"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
)

// Client is a client of one server, of a cluster, or of a master with replicas: see [Open].
// It is safe for use by many goroutines, which is what it is for: make one, and share it.
//
// It is a [redis.Sender], so the functions of package redis take it: [redis.Keys],
// [redis.Script], [redis.NewGroupReader]. Of each error, [redis.OutcomeOf] says what became
// of the request, and [redis.SafeToRetry] whether it can be sent again.
type Client struct {
	sender redis.Sender // the servers with the policy, in hooks
	*shared
}

var _ redis.Sender = (*Client)(nil)

// shared is what a client and those that WithPolicy has made of it have in common.
type shared struct {
	servers servers
	pubsub  redispubsub.Opts // its hooks are those of requests, too

	subscribing sync.Mutex // guards subscriber
	subscriber  *redispubsub.Subscriber
}

// with returns a client that sends with a policy.
func (s *shared) with(policy rediscluster.ReplicaPolicyEnum) *Client {
	sender := s.servers.withPolicy(policy)
	for _, hook := range slices.Backward(s.pubsub.Hooks) {
		sender = redis.WithHook(sender, hook)
	}
	return &Client{sender, s}
}

// Do sends a command and returns its result, which is an *errorx.Error if the request
// failed: see [redis.Err], and [redis.As] for what to do with it. It waits until ctx is
// done, as [redis.SyncCtx] does. Arguments are not kept.
func (c *Client) Do(ctx context.Context, cmd string, args ...any) any {
	return redis.SyncCtx{S: c.sender}.Do(ctx, cmd, args...)
}

// DoInto is Do, and reads the reply into the variable that dst points to, of any type that
// [redis.As] accepts: see [redis.Sync.DoInto].
func (c *Client) DoInto(ctx context.Context, dst any, cmd string, args ...any) error {
	return redis.SyncCtx{S: c.sender}.DoInto(ctx, dst, cmd, args...)
}

// DoMany sends requests at once and returns their results in order, each of which may be an
// error: see [redis.Collect].
func (c *Client) DoMany(ctx context.Context, reqs []redis.Request) []any {
	return redis.SyncCtx{S: c.sender}.SendMany(ctx, reqs)
}

// Transact sends requests between MULTI and EXEC and returns their results, with the error of
// the first that failed, or the error for which there are none: see [redis.Sync.Transact].
func (c *Client) Transact(ctx context.Context, reqs []redis.Request) ([]any, error) {
	return redis.SyncCtx{S: c.sender}.Transact(ctx, reqs)
}

// Watch runs an optimistic transaction: see [redis.Watch].
func (c *Client) Watch(ctx context.Context, keys []string, f func(*redis.Tx) error) ([]any, error) {
	return redis.Watch(ctx, c.sender, keys, f)
}

// Session calls f with a connection of its own; in a cluster with one to the master of key,
// or to any if key is empty: see [redis.WithSession].
func (c *Client) Session(ctx context.Context, key string, f func(*redis.Session) error) error {
	return redis.WithSession(ctx, c.sender, key, f)
}

// Subscriber returns the client's subscriber, which is made by the first call. It has the
// client's hooks and logger, and ends with the client.
func (c *Client) Subscriber() *redispubsub.Subscriber {
	c.subscribing.Lock()
	defer c.subscribing.Unlock()
	if c.subscriber == nil {
		c.subscriber = c.servers.subscribe(c.pubsub)
	}
	return c.subscriber
}

// Stats returns a snapshot of what the client has done and is doing: the sum, and each node.
func (c *Client) Stats() rediscluster.Stats { return c.servers.stats() }

// WithPolicy returns a client that lets replicas answer reads as the policy says. Both share
// all connections, and closing one closes the other. With one server there is no choice.
func (c *Client) WithPolicy(policy rediscluster.ReplicaPolicyEnum) *Client {
	return c.with(policy)
}

// Connection returns the connection of a client of one server, and nil otherwise.
func (c *Client) Connection() *redisconn.Connection {
	one, _ := c.servers.(one)
	return one.Connection
}

// Cluster returns the cluster, sentinel or list client of several servers, and nil with one
// server.
func (c *Client) Cluster() *rediscluster.Cluster {
	several, _ := c.servers.(several)
	return several.Cluster
}

// Reauthenticate asks CredentialsProvider for new credentials, and sends them on all open
// connections, without a failed request: see [redisconn.Connection.Reauthenticate] and
// [rediscluster.Cluster.Reauthenticate]. Calling it again is safe.
func (c *Client) Reauthenticate(ctx context.Context) error { return c.servers.Reauthenticate(ctx) }

// Shutdown closes the subscriber, accepts no more requests (they end with
// [redis.ErrContextClosed], not sent), waits until those that were accepted are answered or
// ctx is done, and closes the client. The error says how many were left.
func (c *Client) Shutdown(ctx context.Context) error {
	if ctx == nil {
		return redis.Err(errs.NilContext())
	}
	c.subscribing.Lock()
	if c.subscriber != nil {
		c.subscriber.Close()
	}
	c.subscribing.Unlock()
	return c.servers.Shutdown(ctx)
}

// Close ends the client and its subscriber. It does not wait: requests that are not written
// end with [redis.ErrContextClosed], those in flight with [redis.ErrIO].
func (c *Client) Close() { c.servers.Close() }

// Send implements [redis.Sender].
func (c *Client) Send(r redis.Request, cb redis.Future, n uint64) { c.sender.Send(r, cb, n) }

// SendMany implements [redis.Sender]: it does not wait. See [Client.DoMany].
func (c *Client) SendMany(reqs []redis.Request, cb redis.Future, start uint64) {
	c.sender.SendMany(reqs, cb, start)
}

// SendTransaction implements [redis.Sender]: it does not wait. See [Client.Transact].
func (c *Client) SendTransaction(reqs []redis.Request, cb redis.Future, start uint64) {
	c.sender.SendTransaction(reqs, cb, start)
}

// Scanner implements [redis.Sender]. See [redis.Keys] for a loop.
func (c *Client) Scanner(opts redis.ScanOpts) redis.Scanner { return c.sender.Scanner(opts) }

// EachShard implements [redis.Sender].
func (c *Client) EachShard(f func(redis.Sender, error) bool) { c.sender.EachShard(f) }

// Delegate is for packages of this module: nobody else can call it.
func (c *Client) Delegate(a wire.Ask) redis.Sender {
	if _, own := a.Held.(*Client); own && c != nil {
		return c.sender
	}
	return nil
}
