package redis

import (
	"sync"
	"sync/atomic"
)

// callsMost is the greatest number of calls of a hook that run at the same time. It bounds the
// stack of a hook that calls itself to some megabytes, and the goroutines of hooks that block.
const callsMost = 4096

// calls are the running calls of a hook, and the calls of After that are due. One call of After
// follows each call of Before. It waits if too many calls are running.
type calls struct {
	running atomic.Int64
	waiting atomic.Int64 // a copy of len(due) that can be read without the lock

	mu  sync.Mutex // guards due
	due []func()   // at most the number of operations in flight while too many calls ran
}

// enter counts a call and returns true, unless too many are running.
func (c *calls) enter() bool {
	if c.running.Add(1) <= callsMost {
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

// start calls f in its own goroutine, as soon as enter allows it.
func (c *calls) start(f func()) {
	c.mu.Lock()
	c.due = append(c.due, f)
	c.waiting.Add(1)
	c.mu.Unlock()
	c.startDue()
}

// startDue starts the calls that are due. Each goroutine ends after one call.
func (c *calls) startDue() {
	for c.waiting.Load() > 0 && c.enter() {
		f := c.nextDue()
		if f == nil { // another goroutine has taken it
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
