package rediscache

import (
	"context"
	"slices"
	"time"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache/internal/memory"
	"github.com/joomcode/redispipe/redisconn"
)

// Cache is a [redis.Sender] that answers some reads from memory. It is safe for concurrent
// use. Create one for each client, and send everything through it.
type Cache struct {
	sender redis.Sender // plain, wrapped in hooks
	plain  *sender
	core   *core
	hooks  []func(redis.Sender) redis.Sender // the hooks of the sender that New got, the outermost first
}

var _ redis.Sender = (*Cache)(nil)

// opened reports whether New has returned c.
func (c *Cache) opened() bool { return c != nil && c.core != nil }

// to returns the sender that c sends through, or [backend.Nobody] if New has not returned c.
func (c *Cache) to() redis.Sender {
	if !c.opened() {
		return backend.Nobody
	}
	return c.sender
}

// New returns a cache for s: a *redisconn.Connection, a *rediscluster.Cluster, the result
// of its WithPolicy, or a *redispipe.Client, with or without hooks. Hooks of s are also called for
// reads that are answered from memory. The cache dials another connection to each master in the
// background; until that is ready, it forwards the reads of keys of that master.
//
// The server must be Redis 6.2 or later. The connection's user needs permission for CLIENT TRACKING and
// CLIENT TRACKINGINFO, and in a cluster also for ROLE.
func New(s redis.Sender, opts Opts) (*Cache, error) {
	c := &core{opts: opts.withDefaults(), sweeping: make(chan struct{}, 1)}
	c.store = memory.New(c.opts.MaxBytes)
	var hooks []func(redis.Sender) redis.Sender
	if inside, _ := send.Inside(s); inside == nil {
		return nil, ErrNoServers.New("the sender is nil: a cache needs a client, a connection or a cluster")
	}
	servers := backend.Inside(s, func(_ redis.Sender, hook func(redis.Sender) redis.Sender) { hooks = append(hooks, hook) })
	known, ok := send.BackendOf[redis.Future](servers).(origin)
	ended, lives := servers.(interface{ Ctx() context.Context })
	if !ok || !lives {
		return nil, ErrNoServers.New("%s is not a connection, cluster or Client: make the cache of one of them, and wrap the cache instead", send.Describe(servers))
	}
	switch all, isCluster := known.(backend.Cluster); conn := servers.(type) {
	case *redisconn.Connection:
		c.nodes.one, c.masters = conn, conn
	default:
		if !isCluster {
			return nil, ErrNoServers.New("%s is not a connection, cluster or Client: make the cache of one of them", send.Describe(servers))
		}
		c.nodes.all, c.masters = all, all.Masters()
	}
	c.backend = send.BackendOf[redis.Future](c.masters).(origin)
	c.ctx, c.cancel = context.WithCancelCause(ended.Ctx())
	c.nodes.placed.Store(&placement{})
	if c.nodes.all != nil {
		c.nodes.all.OnLeft(c.ctx, c.left)
	}
	changed := c.nodes.changed()
	c.place()
	if c.nodes.scripted() {
		c.close()
		return nil, ErrScriptMode.New("with ScriptMode a transaction may be open, or another database selected, without the cache knowing")
	}
	go c.run(changed)
	return c.cacheOf(&sender{core: c, to: servers, backend: known, limits: memory.Limits{Age: c.opts.MaxAge, NullAge: c.opts.NullAge}}, hooks), nil
}

func (c *core) cacheOf(s *sender, hooks []func(redis.Sender) redis.Sender) *Cache {
	cache := &Cache{sender: s, plain: s, core: c, hooks: hooks}
	for _, hook := range slices.Backward(hooks) {
		cache.sender = hook(cache.sender)
	}
	return cache
}

// WithMaxAge returns a cache that caches all keys, whether or not they have one of Opts.Prefixes, and
// serves no reply older than age. Both caches share the entries, the sockets and the statistics, and
// closing one closes the other. Create it once and keep it. With an age of 0 it answers nothing from
// memory.
func (c *Cache) WithMaxAge(age time.Duration) *Cache {
	if !c.opened() {
		return nil
	}
	s := *c.plain
	s.limits.Age, s.limits.All = max(age, 0), true
	return c.core.cacheOf(&s, c.hooks)
}

// Do sends a command and returns its result: see [redis.SyncCtx.Do].
func (c *Cache) Do(ctx context.Context, cmd string, args ...any) any {
	return redis.SyncCtx{S: c.to()}.Do(ctx, cmd, args...)
}

// DoInto sends a command and reads its reply into a variable: see [redis.SyncCtx.DoInto]. A
// reply from memory costs no allocation if it is read into a *string, *int64, *float64, *bool, or a
// *[]byte with enough capacity.
func (c *Cache) DoInto(ctx context.Context, dst any, cmd string, args ...any) error {
	return redis.SyncCtx{S: c.to()}.DoInto(ctx, dst, cmd, args...)
}

// DoMany sends the requests as one batch and returns their results in order. Each result may be an
// error: see [redis.Collect].
func (c *Cache) DoMany(ctx context.Context, reqs []redis.Request) []any {
	return redis.SyncCtx{S: c.to()}.SendMany(ctx, reqs)
}

// Transact sends requests between MULTI and EXEC: see [redis.SyncCtx.Transact]. None of them is
// answered from memory.
func (c *Cache) Transact(ctx context.Context, reqs []redis.Request) ([]any, error) {
	return redis.SyncCtx{S: c.to()}.Transact(ctx, reqs)
}

// Invalidate drops the entries of keys, as if a server had reported that they were changed.
func (c *Cache) Invalidate(keys ...string) {
	if !c.opened() {
		return
	}
	for _, key := range keys {
		c.core.store.Changed(memory.HashOf(key), memory.ByUser)
	}
}

// InvalidateAll drops everything.
func (c *Cache) InvalidateAll() {
	if c.opened() {
		c.core.changed(send.Changes{All: true})
	}
}

// Send implements [redis.Sender].
func (c *Cache) Send(r redis.Request, cb redis.Future, n uint64) { c.to().Send(r, cb, n) }

// SendMany implements [redis.Sender]: it does not wait. See [Cache.DoMany].
func (c *Cache) SendMany(reqs []redis.Request, cb redis.Future, start uint64) {
	c.to().SendMany(reqs, cb, start)
}

// SendTransaction implements [redis.Sender]: it does not wait. See [Cache.Transact].
func (c *Cache) SendTransaction(reqs []redis.Request, cb redis.Future, start uint64) {
	c.to().SendTransaction(reqs, cb, start)
}

// Scanner implements [redis.Sender]. Iterators are not answered from memory.
func (c *Cache) Scanner(opts redis.ScanOpts) redis.Scanner { return c.to().Scanner(opts) }

// EachShard implements [redis.Sender]. Requests through a shard's sender are not answered from
// memory. Writes through it drop the entries of their keys.
func (c *Cache) EachShard(f func(redis.Sender, error) bool) { c.to().EachShard(f) }

// Close closes the cache and the sender that New got. After Close has returned, the cache answers no read
// from memory. If you close only that sender, the cache may still answer from memory for about a
// millisecond.
func (c *Cache) Close() { c.to().Close() }

// Shutdown calls Shutdown of the sender that New got: it refuses new requests, waits until the accepted
// ones are answered or ctx is done, and closes that sender and the cache. Until it returns, the cache
// still answers from memory.
func (c *Cache) Shutdown(ctx context.Context) error {
	if !c.opened() {
		return nil
	}
	defer c.core.close()
	return c.plain.to.(interface {
		Shutdown(ctx context.Context) error
	}).Shutdown(ctx)
}

func init() {
	send.Opens(func(sender any) (inside any, known bool) {
		c, known := sender.(*Cache)
		if !c.opened() {
			return nil, known
		}
		return c.sender, true
	})
}
