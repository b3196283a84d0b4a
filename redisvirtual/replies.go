package redisvirtual

import "github.com/joomcode/redispipe/redis"

// push takes a flight among what is to be read. resolved says that it is answered.
func (c *conn) push(f *flight, resolved bool) {
	if len(f.reqs) > 0 && len(c.to.hooks) > 0 { // not what is answered here, or fails here
		f.observe(c.to.hooks)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if resolved {
		for i := range f.replies {
			f.replies[i].done = true
		}
	} else {
		c.unresolved += len(f.replies)
		f.sending = true
	}
	switch {
	case c.closed:
		return
	case c.head == nil:
		c.head = f
		if c.unresolved == len(f.replies) {
			c.ran = false
		}
	default:
		c.tail.next = f
	}
	c.tail = f
	if resolved {
		c.wakeReader()
	}
}

// resolved takes a reply, the n-th of a flight, or knows that it does not come.
func (c *conn) resolved(f *flight, r *reply, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.done = true
	c.unresolved--
	lost := r.lost != nil
	if !lost || !r.lost.HasTrait(redis.ErrTraitNotSent) {
		c.ran = true
	}
	if lost && (c.failed == nil || c.failed.HasTrait(redis.ErrTraitNotSent)) {
		c.failed = r.lost
	}
	if c.unresolved == 0 {
		c.settled()
	}
	if f == c.head && n == f.read || c.unresolved == 0 && c.failed != nil {
		c.wakeReader()
	}
}

// settled tells serve that nothing is unanswered.
func (c *conn) settled() {
	if c.settling != nil {
		close(c.settling)
		c.settling = nil
	}
}

// settle waits until nothing is unanswered. It returns false if the connection has ended.
func (c *conn) settle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.unresolved > 0 && !c.closed {
		settling := make(chan struct{})
		c.settling = settling
		c.mu.Unlock()
		<-settling
		c.mu.Lock()
	}
	return !c.closed && c.failed == nil && !c.ended
}

// failure is how the connection ends when all replies are known that come.
func (c *conn) failure() error {
	if c.ran {
		return unknown(c.failed)
	}
	return notSent{c.failed}
}

// end has the client read the end of the connection behind the replies.
func (c *conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.wakeReader()
}
