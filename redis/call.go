package redis

import (
	"context"
	"runtime"
	"sync/atomic"

	"github.com/joomcode/redispipe/internal/wire"
)

// call is a wait of one caller, for one result or for several. While it waits it
// may be given the right to read the replies of a connection: it reads until its own
// is there, and passes the right on. Every wrapper waits here, and here only is a
// context known.
type call struct {
	state atomic.Uint32
	// signals tells that right is set, or else that the call is resolved. It has room
	// for both, so that nobody ever waits for the caller.
	signals chan struct{}
	right   wire.ReadRight
}

// The states of a call. The second to come, of its caller and its resolver,
// disposes of it.
const (
	callPending   = iota
	callSending   // its sender is not the library's, and may do anything before it waits
	callGiven     // right is being set
	callReading   // it has the right to read, or will find it in signals
	callResolved  // what it waits for is there
	callAbandoned // the caller has gone
)

// ending is how a wait has ended.
type ending uint8

const (
	endResolved  ending = iota
	endWithdrawn        // taken back unsent; it will not be resolved
	endAbandoned        // the caller goes; it will be resolved
)

func newCall() call { return call{signals: make(chan struct{}, 2)} }

// of prepares the call for requests that s is to send. A Sender of the user's may do
// anything before it returns: until then it is not given the right to read.
func (c *call) of(s Sender) {
	if takes, _ := takesEncoded(s); takes == nil {
		c.state.Store(callSending)
	}
}

// resolve tells the caller that what it waits for is there. It returns false if the
// caller has gone, or was told before.
func (c *call) resolve() bool {
	for {
		state := c.state.Load()
		switch state {
		case callResolved, callAbandoned:
			return false
		case callGiven: // by a connection that does not know yet that another has resolved it
			runtime.Gosched()
			continue
		}
		if c.state.CompareAndSwap(state, callResolved) {
			c.signals <- struct{}{}
			return true
		}
	}
}

// Waits implements wire.Caller.
func (c *call) Waits() bool { return true }

// GiveRead implements wire.Caller.
func (c *call) GiveRead(r wire.ReadRight) bool {
	if !c.state.CompareAndSwap(callPending, callGiven) {
		return false
	}
	c.right = r
	c.state.Store(callReading)
	c.signals <- struct{}{}
	return true
}

// send calls send, which sends what the call is for. If that ends the goroutine, by a
// panic or otherwise, the call is left: it may have been given the right to read.
func (c *call) send(send func()) {
	sent := false
	defer func() {
		if !sent {
			c.state.CompareAndSwap(callSending, callPending)
			c.leave(wire.Ticket{}, wire.ReadRight{})
		}
	}()
	send()
	sent = true
}

// wait waits until the call is resolved, or ctx ends. t is the ticket of its one
// request, if it has one.
func (c *call) wait(ctx context.Context, t wire.Ticket) ending {
	if c.state.Load() == callSending {
		c.state.CompareAndSwap(callSending, callPending)
	}
	ended := ctx.Done()
	for {
		if ended == nil {
			<-c.signals
		} else {
			select {
			case <-c.signals:
			case <-ended:
				return c.leave(t, wire.ReadRight{})
			}
		}
		r := c.taken()
		if r.Reader == nil {
			return endResolved
		}
		if !r.Reader.ReadUntil(ctx, r.Last) {
			return c.leave(t, r)
		}
		c.state.CompareAndSwap(callReading, callPending)
	}
}

// taken returns the right to read, if that is what the last signal brought.
func (c *call) taken() (r wire.ReadRight) {
	if c.right.Reader != nil {
		r, c.right = c.right, r
	}
	return r
}

// leave ends a wait because ctx has ended. If r is not empty, the caller has the
// right to read, which none whose context is heeded gets.
func (c *call) leave(t wire.Ticket, r wire.ReadRight) ending {
	if t.Heeded {
		<-c.signals
		return endResolved
	}
	end := endAbandoned
	if t.Withdraw() {
		end = endWithdrawn
	}
	if r.Reader == nil && !c.state.CompareAndSwap(callPending, callAbandoned) {
		<-c.signals
		r = c.taken()
	}
	if r.Reader == nil {
		if c.state.Load() == callResolved {
			return endResolved
		}
		return end
	}
	if !c.state.CompareAndSwap(callReading, callAbandoned) {
		<-c.signals
		end = endResolved
	}
	r.Reader.PassRead()
	return end
}
