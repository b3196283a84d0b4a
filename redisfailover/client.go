package redisfailover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
)

// Client is a client of several databases, of which one is active: see [Open]. It is a [redis.Sender],
// and safe for concurrent use. Create one and share it.
type Client struct {
	sender  redis.Sender // sends to the active member, with hooks and retries
	opts    Opts
	members []*member // ordered by weight
	slots   bool      // the slots of requests may be needed
	active  atomic.Pointer[term]
	ctx     context.Context
	cancel  context.CancelCauseFunc

	// mu guards the fields below, and the state of the members. Terms begin under it.
	mu        sync.Mutex
	preferred *member
	shifted   time.Time // when the client last shifted by itself; zero if it has not
	looked    time.Time // when the client last judged the members
	shifts    [Switched + 1]uint64
	// moved is closed when subscribers may have to move: when another member becomes active, or when seen
	// is closed because the nodes of the active member have changed.
	moved chan struct{}
	seen  <-chan struct{}
}

var _ redis.Sender = (*Client)(nil)

// Open returns a client of the members. Among the members that are up, the one with the greatest weight
// becomes active. Open waits until each member has answered or failed once. If no member can be opened,
// it returns the errors of all members, with their names. A URL of a single server that is down can be
// opened, as with redispipe.Open. The logger gets a [LogDown] for each member that has failed. If a URL or
// an option is invalid, or the members do not meet the rules of [Member], Open returns an error of the
// namespace [redis.ErrOpts], such as [redis.ErrURL], [redis.ErrOption] or [ErrMembers]. After an error the
// caller still owns the given Senders.
//
// ctx limits only the call to Open: the client lives until [Client.Close] or [Client.Shutdown].
func Open(ctx context.Context, members []Member, opts Opts) (*Client, error) {
	if ctx == nil {
		return nil, redis.Err(errs.NilContext())
	}
	if err := opts.check(); err != nil {
		return nil, redis.Err(err)
	}
	c := &Client{opts: opts.withDefaults(), moved: make(chan struct{})}
	var err error
	if c.members, err = membersOf(members, &c.opts); err != nil {
		return nil, err
	}
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	c.preferred = c.members[0]
	if err := c.openAll(ctx); err != nil {
		c.cancel(lifetime.ErrClosed)
		for _, m := range c.members {
			if m.opened != nil && m.Sender == nil {
				m.opened.Close()
			}
		}
		return nil, err
	}
	c.slots = c.opts.Ramp > 0 || slices.ContainsFunc(c.members, (*member).mayWantSlot)
	s := redis.Sender(&sender{c})
	for _, hook := range slices.Backward(c.opts.Hooks) {
		s = redis.WithHook(s, hook)
	}
	c.sender = redis.WithRetry(s, c.opts.Retry)
	for _, m := range c.members {
		if !m.up {
			c.report(LogDown{Member: m.name, Error: m.lastFailure()})
		}
	}
	c.run()
	return c, nil
}

// openAll opens and probes the members, and begins the first term.
func (c *Client) openAll(ctx context.Context) error {
	failed := make([]error, len(c.members))
	var opening sync.WaitGroup
	for i, m := range c.members {
		opening.Go(func() { _, failed[i] = c.openOne(ctx, m) })
	}
	opening.Wait()
	for _, err := range failed {
		if err != nil && redis.ErrOpts.IsNamespaceOf(redis.AsErrorx(err).Type()) {
			return err
		}
	}
	first := c.best(func(m *member) bool { return m.up })
	if first == nil {
		first = c.best(func(m *member) bool { return m.opened != nil })
	}
	if first == nil {
		return errors.Join(failed...)
	}
	c.active.Store(c.begin(first))
	return nil
}

// openOne opens a member and probes it once. It reports whether the probe has succeeded.
func (c *Client) openOne(ctx context.Context, m *member) (up bool, err error) {
	opened, err := m.open(ctx)
	if err != nil {
		m.failed(err)
		return false, fmt.Errorf("%s: %w", m.name, redis.Err(err))
	}
	to := backend.Unretried(opened)
	m.probe(ctx, to)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil { // the client was closed, so close the new member here
		go opened.Close()
		return false, c.ctx.Err()
	}
	m.opened, m.sender, m.since = opened, to, time.Now()
	m.up = m.probes.Load() > 0
	return m.up, nil
}

// best chooses one of the members for which may returns true: the preferred member if it is one of them, and
// otherwise the one with the greatest weight. It returns nil if may returns true for none.
func (c *Client) best(may func(*member) bool) *member {
	if may(c.preferred) {
		return c.preferred
	}
	for _, m := range c.members {
		if may(m) {
			return m
		}
	}
	return nil
}

// opened reports whether c came from Open.
func (c *Client) opened() bool { return c != nil && c.active.Load() != nil }

// to returns the sender that c sends through, or [backend.Nobody] if c did not come from Open.
func (c *Client) to() redis.Sender {
	if !c.opened() {
		return backend.Nobody
	}
	return c.sender
}

// SwitchTo makes the member with the given name the active and the preferred one. When it returns, new
// requests go there. The former member still answers the requests that were sent to it. SwitchTo does not
// wait for these answers, nor until the writes are copied. If there is no such member, or it is down,
// SwitchTo returns an [ErrMembers], with the last failure as its cause, and changes nothing. Calling it again
// is safe.
func (c *Client) SwitchTo(name string) error {
	if !c.opened() {
		return redis.Err(errs.NoSender())
	}
	i := slices.IndexFunc(c.members, func(m *member) bool { return m.name == name })
	if i < 0 {
		return redis.Err(ErrMembers.New("no member has the name %q", name))
	}
	event, err := c.switchTo(c.members[i])
	if err != nil {
		return redis.Err(err)
	}
	if event != nil {
		c.report(event)
	}
	return nil
}

// Do sends a command and returns its result, which is an *errorx.Error if the request failed: see
// [redis.Err] and [redis.As]. It returns early when ctx is done, like [redis.SyncCtx]. It does not
// retain the arguments.
func (c *Client) Do(ctx context.Context, cmd string, args ...any) any {
	return redis.SyncCtx{S: c.to()}.Do(ctx, cmd, args...)
}

// DoInto is like Do, but reads the reply into the variable that dst points to: see [redis.Sync.DoInto].
func (c *Client) DoInto(ctx context.Context, dst any, cmd string, args ...any) error {
	return redis.SyncCtx{S: c.to()}.DoInto(ctx, dst, cmd, args...)
}

// DoMany sends the requests as one batch and returns their results in order. Each result may be an
// error: see [redis.Collect]. If a shift happens during the batch, both members may answer parts of
// it.
func (c *Client) DoMany(ctx context.Context, reqs []redis.Request) []any {
	return redis.SyncCtx{S: c.to()}.SendMany(ctx, reqs)
}

// Transact sends requests between MULTI and EXEC and returns their results: see
// [redis.Sync.Transact].
func (c *Client) Transact(ctx context.Context, reqs []redis.Request) ([]any, error) {
	return redis.SyncCtx{S: c.to()}.Transact(ctx, reqs)
}

// Watch runs an optimistic transaction: see [redis.Watch].
func (c *Client) Watch(ctx context.Context, keys []string, f func(*redis.Tx) error) ([]any, error) {
	return redis.Watch(ctx, c.to(), keys, f)
}

// Session calls f with a session on the active member: see [redis.WithSession].
func (c *Client) Session(ctx context.Context, key string, f func(*redis.Session) error) error {
	return redis.WithSession(ctx, c.to(), key, f)
}

// Shutdown refuses new requests, waits until the accepted ones are answered or ctx is done, and closes
// the members. It returns the joined errors of the members.
func (c *Client) Shutdown(ctx context.Context) error {
	if ctx == nil {
		return redis.Err(errs.NilContext())
	}
	opened := c.stop()
	failed := make([]error, len(opened))
	var shutting sync.WaitGroup
	for i, s := range opened {
		if to, ok := s.(interface{ Shutdown(context.Context) error }); ok {
			shutting.Go(func() { failed[i] = to.Shutdown(ctx) })
			continue
		}
		s.Close()
	}
	shutting.Wait()
	return errors.Join(failed...)
}

// Close closes the members. It does not wait: requests that were not written fail with
// [redis.ErrContextClosed], those in flight with [redis.ErrIO]. Close does nothing if c is nil, because Open
// returns nil with an error.
func (c *Client) Close() {
	for _, s := range c.stop() {
		s.Close()
	}
}

// stop ends the goroutines, and returns the senders of the open members. After that, no member is opened.
func (c *Client) stop() (opened []redis.Sender) {
	if !c.opened() {
		return nil
	}
	c.cancel(lifetime.ErrClosed)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.members {
		if m.opened != nil {
			opened = append(opened, m.opened)
		}
	}
	return opened
}

// Send implements [redis.Sender]: it sends the request once.
func (c *Client) Send(r redis.Request, cb redis.Future, n uint64) { c.to().Send(r, cb, n) }

// SendMany implements [redis.Sender]: it sends the requests once, and does not wait. See [Client.DoMany].
func (c *Client) SendMany(reqs []redis.Request, cb redis.Future, start uint64) {
	c.to().SendMany(reqs, cb, start)
}

// SendTransaction implements [redis.Sender]: it sends the transaction once, and does not wait. See
// [Client.Transact].
func (c *Client) SendTransaction(reqs []redis.Request, cb redis.Future, start uint64) {
	c.to().SendTransaction(reqs, cb, start)
}

// Scanner implements [redis.Sender]. See [redis.Keys] for a loop.
func (c *Client) Scanner(opts redis.ScanOpts) redis.Scanner { return c.to().Scanner(opts) }

// EachShard implements [redis.Sender], for the member that is active when it is called.
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
