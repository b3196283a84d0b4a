package dedicated

import (
	"container/list"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
)

// unusedMost is how long a connection may be idle before it is closed. A queue worker uses its
// connection again much sooner, but the extra connections of a burst are not needed any more.
const unusedMost = time.Minute

// Config is the configuration of a pool.
type Config struct {
	Most          int           // bounds the number of connections
	Queue         int           // bounds the number of users that wait for one
	MaxBytes      int           // bounds the size of the requests of all waiting users, and of each new user
	IOTimeout     time.Duration // bounds the wait for each answer; negative if there is no bound
	Silence       time.Duration // how long a server may be silent; always positive
	TraceSessions bool
}

// Pool holds the dedicated connections to a server. A user enters, waits for a place, and releases
// it. Places are granted in the order of arrival. A place comes with an idle connection or with the
// right to make one.
type Pool struct {
	config   Config
	dialer   *dial.Dialer
	owner    Owner
	counters counters
	// ctx ends when the pool admits no more users and blocking commands must be unblocked.
	ctx   context.Context
	drain context.CancelCauseFunc
	// users are those that have entered, until they release their place or learn that they get
	// none. blocking are commands that block, or may block.
	users, blocking lifetime.Running
	// watches is set when WATCH has been seen to work through the proxy in front of the server.
	watches atomic.Bool
	// asksRunID is set while the process of the shared connection is being asked for its run_id for reads.
	asksRunID atomic.Bool

	mu      sync.Mutex // guards the fields below
	places  int        // places granted; each user of a place has a connection or makes one
	idle    []*Conn
	waiting list.List // of waiter
	bytes   int       // size of the requests of the waiting users and reads
	all     map[*Conn]struct{}
	// generation counts the changes of the credentials, and cr are the latest credentials. A
	// connection of an earlier generation needs a new handshake before it is used again.
	generation uint64
	cr         dial.Credentials
	sweeper    *time.Timer // runs while connections are idle
	closed     bool
	reads      reads
}

// turn is a user's place in the pool, or in the list of waiting users.
type turn struct {
	// conn came with a place that was granted at once: an idle connection, or nil if the user must
	// make one.
	conn *Conn
	// waiting is the element of Pool.waiting if the place was not granted at once.
	waiting *list.Element
	waiter
}

// waiter is a user that waits for a place. granted receives the connection that comes with the
// place, or nil.
type waiter struct {
	granted chan *Conn
	bytes   int // size of the requests that the user will send
}

// New returns a pool. When ctx ends, the pool is drained.
func New(ctx context.Context, dialer *dial.Dialer, owner Owner, config Config) *Pool {
	p := &Pool{config: config, dialer: dialer, owner: owner, all: map[*Conn]struct{}{}}
	p.ctx, p.drain = context.WithCancelCause(ctx)
	return p
}

// enter grants the caller a place, or puts it on the list of waiting users. bytes is the size of
// the requests that the caller keeps until it can send them.
func (p *Pool) enter(bytes int) (t turn, refused *errorx.Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil || !p.users.Begin() {
		return t, sock.Refused(p.ctx)
	}
	switch {
	case bytes > p.config.MaxBytes:
		refused = redis.ErrRequestTooLarge.New("%d bytes are more than Opts.MaxBytes allows: %d", bytes, p.config.MaxBytes)
	case p.waiting.Len() == 0 && p.places < p.config.Most:
		p.places++
		return turn{conn: p.lastIdleLocked()}, nil
	case p.waiting.Len() >= p.config.Queue:
		refused = redis.ErrQueueFull.New("all %d dedicated connections (Opts.DedicatedConns) are in use, and %d requests wait for one (Opts.MaxRequests)",
			p.config.Most, p.config.Queue)
	case p.bytes+bytes > p.config.MaxBytes:
		refused = redis.ErrQueueFull.New("all %d dedicated connections (Opts.DedicatedConns) are in use, %d bytes wait for one, and Opts.MaxBytes is %d",
			p.config.Most, p.bytes, p.config.MaxBytes)
	default:
		t.waiter = waiter{make(chan *Conn, 1), bytes}
		t.waiting = p.waiting.PushBack(t.waiter)
		p.bytes += bytes
		return t, nil
	}
	p.users.End()
	return t, refused
}

// leaveLocked takes a user off the list of waiting users. The caller must have the lock.
func (p *Pool) leaveLocked(waiting *list.Element) waiter {
	w := p.waiting.Remove(waiting).(waiter)
	p.bytes -= w.bytes
	return w
}

// await waits until t's place is granted, or ctx is done. It returns the connection that comes with
// the place, or nil. A user that is refused must still leave users.
func (p *Pool) await(ctx context.Context, t turn) (c *Conn, refused *errorx.Error) {
	if t.waiting == nil {
		return t.conn, nil
	}
	select {
	case c = <-t.granted:
		return c, nil
	case <-ctx.Done():
		refused = errs.Within(errs.Withdrawn(ctx), "all %d dedicated connections (Opts.DedicatedConns) are in use", p.config.Most)
	case <-p.ctx.Done():
		refused = sock.Refused(p.ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case c = <-t.granted:
		return c, nil
	default:
	}
	p.leaveLocked(t.waiting)
	return nil, refused
}

// nextIdle takes another idle connection for a granted place. It returns nil if there is none.
func (p *Pool) nextIdle() *Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lastIdleLocked()
}

// lastIdleLocked takes the idle connection that was used last. The user must check whether it is
// alive.
func (p *Pool) lastIdleLocked() *Conn {
	last := len(p.idle) - 1
	if last < 0 {
		return nil
	}
	c := p.idle[last]
	p.idle[last] = nil
	p.idle = p.idle[:last]
	return c
}

// made adds a new connection and returns how many there are. It returns 0 if the pool is closed.
func (p *Pool) made(c *Conn) (open int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0
	}
	p.all[c] = struct{}{}
	return len(p.all)
}

// current returns the generation for a handshake that begins now.
func (p *Pool) current() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.generation
}

// update sets a connection to the current generation before its new handshake, and returns the
// credentials for that handshake.
func (p *Pool) update(c *Conn) dial.Credentials {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.generation == p.generation {
		return c.Credentials
	}
	c.generation = p.generation
	return p.cr
}

// Outdate records new credentials: connections with older ones are not used again without a new
// handshake.
func (p *Pool) Outdate(cr dial.Credentials) {
	p.mu.Lock()
	p.generation++
	p.cr = cr
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, c := range idle {
		p.drop(c)
	}
}

// release gives a place back, and grants it to the next waiting user. If asNew is set, that user
// also gets the connection, which is like new. Otherwise release first closes the connection,
// because the number of places bounds the number of connections.
func (p *Pool) release(c *Conn, asNew bool) {
	p.mu.Lock()
	if c != nil && !(asNew && c.generation == p.generation) {
		p.mu.Unlock()
		p.drop(c)
		c = nil
		p.mu.Lock()
	}
	defer p.mu.Unlock()
	p.users.End()
	if p.closed {
		c = nil // Close has closed it
	}
	if first := p.waiting.Front(); first != nil {
		p.leaveLocked(first).granted <- c
		return
	}
	p.places--
	if c != nil {
		c.used = time.Now()
		p.idle = append(p.idle, c)
		if p.sweeper == nil {
			p.sweeper = time.AfterFunc(unusedMost, p.sweep)
		}
	}
}

// sweep closes connections that have been idle for long. It runs in the timer's goroutine.
func (p *Pool) sweep() {
	p.mu.Lock()
	unused := 0
	for unused < len(p.idle) && time.Since(p.idle[unused].used) >= unusedMost {
		unused++
	}
	old := slices.Clone(p.idle[:unused])
	p.idle = slices.Delete(p.idle, 0, unused)
	p.sweeper = nil
	if len(p.idle) > 0 {
		p.sweeper = time.AfterFunc(unusedMost-time.Since(p.idle[0].used), p.sweep)
	}
	p.mu.Unlock()
	for _, c := range old {
		p.drop(c)
	}
}

// drop closes a connection that is in use. If its user has a place, the user keeps it.
func (p *Pool) drop(c *Conn) {
	p.mu.Lock()
	delete(p.all, c)
	p.mu.Unlock()
	_ = c.Close()
}

// Left returns the number of users with a place, which have a connection or are getting one, and
// the number of users that wait.
func (p *Pool) Left() (granted, waiting int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	granted = p.users.Calls() - p.waiting.Len()
	if p.reads.making { // for no request
		granted--
	}
	return granted, p.waiting.Len() + len(p.reads.waiting)
}
