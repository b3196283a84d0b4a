package redisvirtual

import (
	"context"
	"net"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redisconn"
)

// Write implements net.Conn. Requests that are complete go out together.
func (c *conn) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	err := c.writable()
	switch own := c.own; {
	case err != nil:
		c.mu.Unlock()
		return 0, err
	case c.serving:
		c.in = append(c.in, p...)
		c.mu.Unlock()
		return len(p), nil
	case own != nil:
		c.mu.Unlock()
		return own.Write(p)
	case c.failed != nil: // how the connection ends is known when all replies are
		c.mu.Unlock()
		return len(p), nil
	}
	buf := p
	if len(c.in) > 0 {
		c.in = append(c.in, p...)
		buf = c.in
	}
	c.mu.Unlock()
	rest, later, err := c.take(buf)
	if err != nil {
		return 0, err
	}
	switch serves := c.keep(rest, later); {
	case serves && c.leaving:
		c.serve()
	case serves:
		go c.serve()
	}
	return len(p), nil
}

// keep keeps what was not sent, and reports whether serve has to deal with it.
func (c *conn) keep(rest []byte, later bool) (serves bool) {
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
	c.serving = later && !c.closed
	return c.serving
}

// writable returns why nothing can be written.
func (c *conn) writable() error {
	switch {
	case c.closed || c.ended:
		return net.ErrClosed
	case c.failed != nil && c.unresolved == 0:
		return c.failure()
	case c.passed(c.writeBy):
		return expired{sent: c.unresolved > 0 || c.head != nil && c.ran}
	}
	return nil
}

// take sends the requests that buf begins with, and returns the rest: a request that is not
// complete, or if later is set one that serve has to deal with.
func (c *conn) take(buf []byte) (rest []byte, later bool, err error) {
	for len(buf) > 0 && !c.passing {
		var end int
		var request []byte
		var p problem
		if c.scan.begun || buf[0] == '*' {
			var empty bool
			if end, empty, p = c.scan.request(buf); !empty {
				request = buf[:end]
			}
		} else {
			end, request, p = inline(buf)
		}
		if p == noProblem && end == 0 && len(buf) > inputMost {
			p = longInput
		}
		if p != noProblem {
			c.tell()
			c.answer(appendError(nil, "ERR "+string(p)))
			c.end()
			buf = nil
		}
		if end == 0 {
			break
		}
		if len(request) > 0 && !c.command(request) {
			later = true
			break
		}
		c.served = false
		if c.quit {
			buf = nil
			break
		}
		buf = buf[end:]
	}
	c.tell()
	return buf, later, c.send()
}

// answer answers a request here.
func (c *conn) answer(frame []byte) {
	c.broken(c.send())
	f := newFlight(c)
	r := f.reply()
	r.frame = append(r.frame[:0], frame...)
	c.push(f, true)
}

// send sends the requests of the batch.
func (c *conn) send() error {
	f := c.batch
	if f == nil || len(f.reqs) == 0 {
		return c.sendFailed
	}
	c.batch = nil
	c.broken(c.launch(f, false))
	return c.sendFailed
}

// broken keeps the first error of sending.
func (c *conn) broken(err error) {
	if c.sendFailed == nil {
		c.sendFailed = err
	}
}

// launch sends the requests of a flight, and waits while the queue is full.
func (c *conn) launch(f *flight, asking bool) error {
	c.push(f, false)
	var err error
	switch {
	case c.to.several():
		for i := range f.reqs {
			if err == nil {
				err = c.untilRoom(f, uint64(i), func() { c.to.sender.SendEncoded(&f.reqs[i], f, uint64(i)) })
			}
		}
	case len(f.reqs) == 1:
		err = c.untilRoom(f, 0, func() { c.to.shared.SendEncodedAsk(&f.reqs[0], f, 0, asking) })
	default:
		for i := range f.reqs {
			f.refs = append(f.refs, &f.reqs[i])
		}
		flags := 0
		if asking {
			flags = redisconn.DoAsking
		}
		err = c.untilRoom(f, 0, func() { c.to.shared.SendEncodedBatch(f.refs, f, 0, flags) })
	}
	c.sent(f)
	return err
}

// sent ends the sender's part of a flight.
func (c *conn) sent(f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.sending = false; f.gone {
		f.put()
	}
}

// untilRoom calls send, which sends the requests of a flight from one of them on, and again each
// time there may be room in a queue that was full.
func (c *conn) untilRoom(f *flight, from uint64, send func()) error {
	c.mu.Lock()
	f.from = from
	c.mu.Unlock()
	for {
		send()
		c.mu.Lock()
		room, by := f.room, c.writeBy
		f.room = nil
		c.mu.Unlock()
		if room == nil {
			return nil
		}
		ctx, cancel := c.context(), context.CancelFunc(func() {})
		if !by.IsZero() {
			ctx, cancel = context.WithDeadline(ctx, by)
		}
		err := room.AwaitCapacity(ctx)
		cancel()
		if err != nil {
			return c.overdue(f)
		}
	}
}

// overdue ends the connection for whose Write there was no room in time: nobody knows how much
// of that was sent.
func (c *conn) overdue(f *flight) error {
	c.mu.Lock()
	closed := c.closed
	sent := c.ran || c.unresolved > len(f.replies)-int(f.from)
	c.mu.Unlock()
	if closed {
		return net.ErrClosed
	}
	_ = c.Close()
	return expired{sent: sent}
}

// awaitsRoom reports whether a request of a flight that was refused is to be sent again: not one
// that was sent before, and refused where it was redirected to.
func (c *conn) awaitsRoom(f *flight, n uint64, full *errorx.Error) bool {
	room, ok := full.Property(errs.EKCapacity)
	if !ok {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	awaits := f.sending && n >= f.from
	if awaits {
		f.room = room.(wire.CapacityWaiter)
	}
	return awaits
}
