package redisvirtual

import "github.com/joomcode/redispipe/redis"

// serve is the goroutine that handles, one after the other, requests that take time or must keep
// their order: blocking commands, sessions, sockets of the client's own. Write starts it, and is then
// no longer the writer. It ends when no such request is left, or with the connection. If
// its only work is to open a socket of the client's own, Write calls it.
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
	c.stream.End() // also after a Write by serve has failed
	c.mu.Lock()
	defer c.mu.Unlock()
	c.in = nil
	c.serveLocked(false)
}

// idle removes the data that was sent, and reports whether Write is the writer again, because serve
// has nothing left to do.
func (c *conn) idle(sent, left int, later bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.in = c.in[sent:]
	c.takenLocked()
	if later || len(c.in) > left || c.stream.Closed() {
		return false
	}
	if len(c.in) == 0 {
		c.in = nil
	}
	c.serveLocked(false)
	return true
}

// serveLocked records whether serve is the writer, which then has its own input.
func (c *conn) serveLocked(serving bool) {
	c.serving = serving
	c.takenLocked()
	c.stream.Serving(serving)
}

// passOn writes buffered data to the socket, until Write takes over. If writing fails, it closes the
// socket, because it can't know how much of the data the server has got.
func (c *conn) passOn(sent int) {
	for {
		c.mu.Lock()
		out := c.in[sent:]
		c.in, sent = nil, 0
		c.takenLocked()
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
