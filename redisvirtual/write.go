package redisvirtual

import (
	"github.com/joomcode/redispipe/redisvirtual/internal/proto"
)

// Write implements net.Conn. It sends complete requests together.
func (c *conn) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	if err := c.awaitRoomLocked(); err != nil {
		c.mu.Unlock()
		return 0, err
	}
	wanted, err := c.stream.Writable()
	switch {
	case err != nil:
		c.mu.Unlock()
		return 0, err
	case c.serving:
		c.in = append(c.in, p...)
		c.mu.Unlock()
		return len(p), nil
	}
	c.mu.Unlock()
	switch {
	case c.own != nil:
		return c.own.Write(p)
	case !wanted:
		return len(p), nil
	}
	buf := p
	if len(c.in) > 0 {
		c.in = append(c.in, p...)
		buf = c.in
	}
	rest, later, err := c.take(buf)
	if err != nil {
		return 0, err
	}
	switch serves := c.keep(rest, later); {
	case serves && c.leaving:
		if err := c.stream.Await(c.serve); err != nil {
			return 0, err
		}
		if c.sendFailed != nil {
			return 0, c.sendFailed
		}
	case serves:
		go c.serve()
	}
	return len(p), nil
}

// behindMost is how many bytes may wait for serve. If that many wait, Write blocks, like the Write of a
// socket whose other end does not read. If fewer wait, Write adds all its bytes.
const behindMost = 1 << 20

// awaitRoomLocked waits, without the lock, until fewer than behindMost bytes wait for serve.
func (c *conn) awaitRoomLocked() error {
	for c.serving && len(c.in) >= behindMost && !c.stream.Closed() {
		taken := make(chan struct{})
		c.taken = taken
		c.mu.Unlock()
		err := c.stream.Await(func() {
			select {
			case <-taken:
			case <-c.stream.Context().Done():
			}
		})
		c.mu.Lock()
		if err != nil {
			return err
		}
	}
	return nil
}

// takenLocked tells a waiting Write that serve has taken data from c.in, or is no longer the writer.
func (c *conn) takenLocked() {
	if c.taken != nil {
		close(c.taken)
		c.taken = nil
	}
}

// keep keeps the data that was not sent, and reports whether serve must handle it.
func (c *conn) keep(rest []byte, later bool) (serves bool) {
	if len(rest) == 0 && len(c.in) == 0 && !later { // only the writer sets c.in, so this needs no lock
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(rest) == 0:
		c.in = nil
	case len(c.in) > 0:
		c.in = rest
	default:
		c.in = append([]byte(nil), rest...)
	}
	c.serveLocked(later && !c.stream.Closed())
	return c.serving
}

// take sends the requests at the start of buf, and returns the rest, which starts with an incomplete
// request or, if later is set, with a request that serve must handle.
func (c *conn) take(buf []byte) (rest []byte, later bool, err error) {
	for len(buf) > 0 && c.own == nil {
		end, request, problem := c.scan.Next(buf)
		if problem != proto.NoProblem {
			c.tell()
			c.answer(proto.AppendError(nil, "ERR "+string(problem)))
			c.stream.End()
			buf = nil
			break
		}
		if end == 0 {
			break
		}
		if len(request) > 0 && !c.command(request) {
			later = true
			break
		}
		c.served, c.leaving = false, false
		if c.quit {
			buf = nil
			break
		}
		buf = buf[end:]
	}
	if !later { // if later is set, serve continues with the same transaction
		c.tell()
	}
	return buf, later, c.send()
}
