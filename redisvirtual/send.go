package redisvirtual

import (
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisvirtual/internal/replies"
)

// answer sends the batch, and then appends a reply that the library itself gives.
func (c *conn) answer(frame []byte) {
	c.broken(c.send())
	c.stream.Answer(frame)
}

// send sends the requests of the batch.
func (c *conn) send() error {
	f := c.batch
	if f == nil || len(f.Reqs) == 0 {
		return c.sendFailed
	}
	c.batch = nil
	c.broken(c.launch(f, false))
	return c.sendFailed
}

// broken records the first error of sending.
func (c *conn) broken(err error) {
	if c.sendFailed == nil {
		c.sendFailed = err
	}
}

// launch sends the requests of a flight, and waits while the queue is full.
func (c *conn) launch(f *replies.Flight, asking bool) error {
	if !f.Push() {
		return nil
	}
	last := len(f.Reqs) - 1
	switch {
	case c.to.Several:
		for i := range last {
			if err := f.Send(false, func() { c.to.Sender.SendEncoded(&f.Reqs[i], f, uint64(i)) }); err != nil {
				return err
			}
		}
		return f.Send(true, func() { c.to.Sender.SendEncoded(&f.Reqs[last], f, uint64(last)) })
	case last == 0:
		f.Reqs[0].Asking = asking
		return f.Send(true, func() { c.to.Shared.SendEncoded(&f.Reqs[0], f, 0) })
	}
	flags := 0
	if asking {
		flags = redisconn.DoAsking
	}
	return f.Send(true, func() { c.to.Shared.SendEncodedBatch(f.Refs(), f, 0, flags) })
}
