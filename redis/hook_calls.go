package redis

import (
	"sync"
	"sync/atomic"
)

// callsMost is while how many calls of a hook no operation begins with one, and no goroutine
// for another is started: a hook that calls itself needs no more than some megabytes of stack
// for them, and those that block no more goroutines.
const callsMost = 4096

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
