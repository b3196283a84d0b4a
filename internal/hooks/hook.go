package hooks

import (
	"context"
	"log"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Hook is redis.Hook, of operations Op that end as End.
type Hook[Op, End any] interface {
	Before(ctx context.Context, op Op) context.Context
	After(ctx context.Context, op Op, end End)
}

// Caller calls a hook.
type Caller[Op, End any] struct {
	Hook   Hook[Op, End]
	panics sync.Once
	calls
}

// Observed is an operation on its way, of which After is to be called. It is empty if Before
// was not called.
type Observed[Op, End any] struct {
	by    *Caller[Op, End]
	ctx   context.Context
	Op    Op
	start time.Time
}

// inHook is the key of a context that a hook has got from its Caller.
type inHook[Op, End any] struct{ by *Caller[Op, End] }

// Begin calls Before, unless op is sent by the hook itself, or too many calls are under way.
func (c *Caller[Op, End]) Begin(ctx context.Context, op Op) (o Observed[Op, End]) {
	if ctx.Value(inHook[Op, End]{c}) != nil || !c.enter() {
		return o
	}
	o = Observed[Op, End]{Op: op}
	defer c.leave()
	defer c.recovered()
	inner := context.WithValue(ctx, inHook[Op, End]{c}, true)
	if o.ctx = c.Hook.Before(inner, op); o.ctx == nil {
		o.ctx = inner
	}
	o.by, o.start = c, time.Now() // else it has panicked
	return o
}

// Hooked reports whether Before was called.
func (o *Observed[Op, End]) Hooked() bool { return o.by != nil }

// Duration is the time since Before was called.
func (o *Observed[Op, End]) Duration() time.Duration { return time.Since(o.start) }

// End calls After, in the goroutine of its caller, however many calls are under way.
func (o *Observed[Op, End]) End(end End) {
	if o.by == nil {
		return
	}
	o.by.running.Add(1)
	defer o.by.leave()
	o.after(end)
}

// EndAside is End in a goroutine of its own, which begins as soon as there are not too many.
func (o *Observed[Op, End]) EndAside(end End) {
	if o.by != nil {
		o.by.aside(func() { o.after(end) })
	}
}

func (o *Observed[Op, End]) after(end End) {
	defer o.by.recovered()
	o.by.Hook.After(o.ctx, o.Op, end)
}

func (c *Caller[Op, End]) recovered() {
	if v := recover(); v != nil {
		c.panics.Do(func() { log.Printf("redispipe: a hook panicked: %v\n%s", v, debug.Stack()) })
	}
}

// most is while how many calls of a hook no operation begins with one, and no goroutine
// for another is started: a hook that calls itself needs no more than some megabytes of stack
// for them, and those that block no more goroutines.
const most = 4096

// calls are the calls of a hook that are under way, and those of After that are due:
// every call of Before is followed by one, which waits if too many are under way.
type calls struct {
	running atomic.Int64
	waiting atomic.Int64 // len(due), to be read without the lock

	mu  sync.Mutex // guards due
	due []func()   // no more than operations were in flight when too many calls ran
}

// enter counts a call, unless too many are under way.
func (c *calls) enter() bool {
	if c.running.Add(1) <= most {
		return true
	}
	c.running.Add(-1)
	return false
}

// leave ends a call.
func (c *calls) leave() {
	c.running.Add(-1)
	c.startDue()
}

// aside has f called in a goroutine of its own, as soon as enter allows for it.
func (c *calls) aside(f func()) {
	c.mu.Lock()
	c.due = append(c.due, f)
	c.waiting.Add(1)
	c.mu.Unlock()
	c.startDue()
}

// startDue starts what is due. Each goroutine ends after one call.
func (c *calls) startDue() {
	for c.waiting.Load() > 0 && c.enter() {
		f := c.nextDue()
		if f == nil { // another has taken it
			c.running.Add(-1)
			continue
		}
		go func() {
			defer c.leave()
			f()
		}()
	}
}

func (c *calls) nextDue() (f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.due) == 0 {
		return nil
	}
	f, c.due[0] = c.due[0], nil
	if c.due = c.due[1:]; len(c.due) == 0 {
		c.due = nil
	}
	c.waiting.Add(-1)
	return f
}
