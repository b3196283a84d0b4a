package redisvirtual

import (
	"io"
	"net"
)

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	c.mu.Lock()
	for {
		if c.own == nil && !c.closed && c.passed(c.readBy) {
			sent := c.unresolved > 0 || c.ran
			c.mu.Unlock()
			return 0, expired{sent: sent}
		}
		if n := c.drain(p); n > 0 {
			c.mu.Unlock()
			return n, nil
		}
		own, err := c.readable()
		if own != nil || err != nil {
			c.mu.Unlock()
			if err != nil {
				return 0, err
			}
			return own.Read(p)
		}
		c.await()
	}
}

// drain reads what is there, up to the first reply that is not.
func (c *conn) drain(p []byte) (n int) {
	for f := c.head; f != nil; f = c.head {
		for f.read < len(f.replies) {
			r := &f.replies[f.read]
			if !r.done || r.lost != nil || n == len(p) {
				return n
			}
			m := copy(p[n:], r.frame[f.off:])
			n += m
			if f.off += m; f.off < len(r.frame) {
				return n
			}
			f.read, f.off = f.read+1, 0
		}
		if c.head = f.next; c.head == nil {
			c.tail = nil
		}
		if f.gone = f.sending; !f.gone {
			f.put()
		}
	}
	return n
}

// readable returns the socket that is to be read, or why nothing will come. If it returns
// neither, something may come.
func (c *conn) readable() (own net.Conn, err error) {
	switch {
	case c.closed:
		return nil, net.ErrClosed
	case c.failed != nil && c.unresolved == 0:
		return nil, c.failure()
	case c.head == nil && c.ended:
		return nil, io.EOF
	case c.head == nil && c.own != nil:
		return c.own, nil
	}
	return nil, nil
}

// await waits, without the lock, until there is something to look at.
func (c *conn) await() {
	if !c.readBy.IsZero() && (c.alarmed.IsZero() || c.readBy.Before(c.alarmed)) {
		c.setAlarm()
	}
	c.readers++
	c.mu.Unlock()
	<-c.wake
	c.mu.Lock()
	if c.readers--; c.readers > 0 {
		c.wakeReader() // it may have been for another
	}
}

// wakeReader wakes who waits.
func (c *conn) wakeReader() {
	if c.readers == 0 {
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
