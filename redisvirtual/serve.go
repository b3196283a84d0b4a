package redisvirtual

import "github.com/joomcode/redispipe/redis"

// serve is the goroutine that deals, one after the other, with what takes time or must not
// overtake anything: what blocks, sessions, sockets of one's own. Write starts it, and is not the
// writer any more. It ends when nothing of that kind is left, and with the connection. If a socket
// of the client's own is all that it is for, Write calls it.
func (c *conn) serve() {
	for c.stream.Settle() {
		c.mu.Lock()
		buf := c.in
		c.mu.Unlock()
		c.served = true
		rest, later, err := c.take(buf)
		c.served = false
		if err != nil || c.quit {
			break
		}
		if c.own != nil {
			c.passOn(len(buf) - len(rest))
			return
		}
		if c.idle(len(buf)-len(rest), len(rest), later) {
			return
		}
	}
	c.leaveSession()
	c.stream.End() // also if a Write has failed, that nobody called
	c.mu.Lock()
	defer c.mu.Unlock()
	c.in = nil
	c.serveLocked(false)
}

// idle takes away what was sent, and reports whether Write is the writer again, because serve
// has nothing to do.
func (c *conn) idle(sent, left int, later bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.in = c.in[sent:]
	if later || len(c.in) > left || c.stream.Closed() {
		return false
	}
	if len(c.in) == 0 {
		c.in = nil
	}
	c.serveLocked(false)
	return true
}

// serveLocked notes whether serve is the writer, which has input of its own then.
func (c *conn) serveLocked(serving bool) {
	c.serving = serving
	c.stream.Serving(serving)
}

// passOn writes what has come meanwhile to the socket, until Write does. Where that fails the socket
// is closed, since nobody knows how much of it the server has.
func (c *conn) passOn(sent int) {
	for {
		c.mu.Lock()
		out := c.in[sent:]
		c.in, sent = nil, 0
		if len(out) == 0 {
			c.serveLocked(false)
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		if _, err := c.own.Write(out); err != nil {
			c.broken(redis.ErrIO.Wrap(err, "writing"))
			_ = c.own.Close()
		}
	}
}
