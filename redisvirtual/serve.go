package redisvirtual

import "github.com/joomcode/redispipe/redis"

// serve is the goroutine that handles requests for which Write must not wait, one after the other: blocking
// commands, sessions, and requests that need a separate socket. Write starts it, and serve is the writer
// until it ends. It ends when no such request is left, or with the connection. If all it has to do is to
// open a separate socket, Write calls it instead of starting a goroutine.
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
	c.stream.End() // in case the connection has not ended by itself, but take has returned an error
	c.mu.Lock()
	defer c.mu.Unlock()
	c.in = nil
	c.serveLocked(false)
}

// idle removes the data that was sent from c.in. If serve has nothing left to do, idle makes Write the
// writer again and returns true.
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

// serveLocked records whether serve is the writer.
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
