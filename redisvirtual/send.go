package redisvirtual

import (
	"context"
	"net"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redisconn"
)

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
	last := len(f.reqs) - 1
	switch {
	case c.to.several():
		for i := range last {
			if err := c.untilRoom(f, uint64(i), false, func() { c.to.sender.SendEncoded(&f.reqs[i], f, uint64(i)) }); err != nil {
				return err
			}
		}
		return c.untilRoom(f, uint64(last), true, func() { c.to.sender.SendEncoded(&f.reqs[last], f, uint64(last)) })
	case last == 0:
		return c.untilRoom(f, 0, true, func() { c.to.shared.SendEncodedAsk(&f.reqs[0], f, 0, asking) })
	}
	for i := range f.reqs {
		f.refs = append(f.refs, &f.reqs[i])
	}
	flags := 0
	if asking {
		flags = redisconn.DoAsking
	}
	return c.untilRoom(f, 0, true, func() { c.to.shared.SendEncodedBatch(f.refs, f, 0, flags) })
}

// untilRoom calls send, which sends the requests of a flight from one of them on, and again each
// time there may be room in a queue that was full. Behind the last of them, it ends the sender's
// part of the flight.
func (c *conn) untilRoom(f *flight, from uint64, last bool, send func()) error {
	if from > 0 {
		c.mu.Lock()
		f.from = from
		c.mu.Unlock()
	}
	for {
		send()
		c.mu.Lock()
		room, by := f.room, c.writeBy
		f.room = nil
		if room == nil && last {
			c.sentLocked(f)
		}
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
			err = c.overdue(f)
			c.sent(f)
			return err
		}
	}
}

// sent ends the sender's part of a flight.
func (c *conn) sent(f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sentLocked(f)
}

func (c *conn) sentLocked(f *flight) {
	if f.sending = false; f.gone {
		f.put()
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
