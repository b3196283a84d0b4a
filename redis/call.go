package redis

import (
	"context"
	"runtime"
	"sync/atomic"

	"github.com/joomcode/redispipe/internal/send"
)

// call is the wait of one caller for one result or several. Every wrapper waits here.
//
// While a call is deaf, it waits only for its signal, which is cheaper than also waiting for the
// end of its context. When its request has been pending for long, the connection tells the call to
// listen to its context. A connection may give a waiting call the right to read the connection's
// replies. The call then reads until its own reply has arrived, and passes the right on.
type call struct {
	state atomic.Uint32
	// deaf is set while the caller waits only for its signal. Only the caller uses it.
	deaf bool
	// told is set if one of the signals tells the caller to listen. It is set in the
	// state callTold; after that, only the caller uses it.
	told bool
	// stays is set if the reply goes into the caller's buffer. Then the request is never sent to
	// another server, because the server that has stalled may still answer. Only the caller uses
	// stays.
	stays bool
	// signals gets one signal when the caller must listen, one when right is set, and one when the
	// call is resolved. It has room for all three, so no sender of a signal waits for the caller.
	// Signals may arrive in a different order than their events, so the caller counts them. The
	// values mean nothing, but a channel of bytes takes fewer cache lines than one of struct{}.
	signals chan byte
	right   send.ReadRight
}

// The states of a call. The resolver finishes by setting callResolved, a caller that leaves by
// setting callAbandoned, each with one compare-and-swap. The second of the two owns the call and
// recycles it. By its signal, the resolver passes the call to the caller. A caller that has set
// callAbandoned must not touch the call again: it may be recycled at once, and serve another
// request.
const (
	callPending   = iota
	callDeaf      // like callPending, but deaf: a connection may tell the caller to listen to its context
	callTold      // the caller is being told to listen
	callSending   // the user's own sender has the request, and may do anything before the caller waits
	callGiven     // right is being set
	callReading   // the caller has the right to read, or the signal that brings it is on its way
	callResolved  // the result has arrived
	callAbandoned // the caller has left
)

// ending is how a wait ended.
type ending uint8

const (
	endResolved  ending = iota
	endWithdrawn        // the request was taken back unsent; the call will not be resolved
	endAbandoned        // the caller leaves; the call will still be resolved
)

func newCall() call { return call{signals: make(chan byte, 3)} }

// resolve tells the caller that its result has arrived. It returns false if the caller has
// left, or was already told.
func (c *call) resolve() bool {
	for {
		state := c.state.Load()
		switch state {
		case callResolved, callAbandoned:
			return false
		case callGiven, callTold: // a second connection may try to resolve the call before it learns that the first one did
			runtime.Gosched()
			continue
		}
		if c.state.CompareAndSwap(state, callResolved) {
			c.signals <- 0
			return true
		}
	}
}

// Caller is called by send.CallerOf.
func (c *call) Caller() send.Caller { return c }

// GiveRead implements send.Caller.
func (c *call) GiveRead(r send.ReadRight) bool {
	if !c.state.CompareAndSwap(callPending, callGiven) && !c.state.CompareAndSwap(callDeaf, callGiven) {
		return false
	}
	c.right = r
	c.state.Store(callReading)
	c.signals <- 0
	return true
}

// Waits implements send.Caller.
func (c *call) Waits() bool { return c.state.Load() != callSending }

// Touch implements send.Caller.
func (c *call) Touch() int { return int(c.state.Load()) + len(c.signals) }

// Listen implements send.Caller.
func (c *call) Listen() bool {
	if !c.state.CompareAndSwap(callDeaf, callTold) {
		return false
	}
	c.told = true
	c.state.Store(callPending)
	c.signals <- 0
	return true
}

// listen makes the caller listen from now on, even if no connection told it to.
func (c *call) listen() {
	if !c.deaf {
		return
	}
	c.deaf = false
	for !c.state.CompareAndSwap(callDeaf, callPending) && c.state.Load() == callTold {
		runtime.Gosched()
	}
	if c.told {
		c.told = false
		<-c.signals
	}
}

// wait waits until the call is resolved or ctx ends. If the request may move to another server
// (t.Moves), wait also returns when its server stalls. If ended is set, the caller must call leave
// with r. If the call has exactly one request, t is its ticket. Unless t.Tells is set, a deaf call
// listens at once.
func (c *call) wait(ctx context.Context, t *send.Ticket) (r send.ReadRight, ended bool) {
	if c.deaf && !t.Tells {
		c.listen()
	}
	if c.state.Load() == callSending {
		c.state.CompareAndSwap(callSending, callPending)
	}
	for {
		if c.deaf || ctx.Done() == nil && !t.Moves || c.state.Load() == callResolved {
			<-c.signals
		} else if !c.signalled(ctx, t) {
			return send.ReadRight{}, true
		}
		if c.told {
			c.deaf, c.told = false, false
			continue
		}
		if r, c.right = c.right, (send.ReadRight{}); r.Reader == nil { // the signal did not bring the right to read
			return r, false
		}
		if !c.read(ctx, r, t) {
			return r, true
		}
		c.state.CompareAndSwap(callReading, callPending)
	}
}

// signalled waits for a signal, and returns false if ctx ends or the server stalls first.
func (c *call) signalled(ctx context.Context, t *send.Ticket) bool {
	for {
		var stalled <-chan struct{}
		if t.Moves {
			stalled = t.Queue.(send.Staller).Stalled().Done()
		}
		select {
		case <-c.signals:
			return true
		case <-ctx.Done():
			return false
		case <-stalled:
		}
		if c.leaves(t) {
			return false
		}
	}
}

// leaves reports whether the request leaves its server, which has stalled. If the request may not
// leave it at all, later calls of signalled no longer wait for a stall.
func (c *call) leaves(t *send.Ticket) bool {
	t.Moves = !c.stays || t.Apart
	return t.Moves && t.Queue.(send.Staller).Leave()
}

// read reads replies, with the right to read, until the call is resolved. It returns false if it
// has stopped before that and the caller still has the right. After read the caller is no longer
// deaf.
func (c *call) read(ctx context.Context, r send.ReadRight, t *send.Ticket) bool {
	if c.deaf {
		c.deaf = false
		if r.Reader.ReadUntil(ctx, r.Last, true) {
			return true
		}
	}
	for t.Moves {
		if r.Reader.ReadUntil(&patience{ctx, t.Queue.(send.Staller).Stalled()}, r.Last, false) {
			return true
		}
		if ctx.Err() != nil || c.leaves(t) {
			return false
		}
	}
	return r.Reader.ReadUntil(ctx, r.Last, false)
}

// leave ends a wait because ctx has ended. If the call has exactly one request, t is its ticket. If
// r is not empty, the caller has the right to read. A caller whose sender watches its context never
// gets that right. The call still belongs to the caller unless leave returns endAbandoned.
func (c *call) leave(t send.Ticket, r send.ReadRight) ending {
	if t.Heeded {
		<-c.signals
		return endResolved
	}
	end := endAbandoned
	if t.Withdraw() {
		end = endWithdrawn
	}
	if r.Reader == nil {
		if c.state.CompareAndSwap(callPending, callAbandoned) {
			return end
		}
		<-c.signals
		if r, c.right = c.right, (send.ReadRight{}); r.Reader == nil {
			return endResolved
		}
	}
	if !c.state.CompareAndSwap(callReading, callAbandoned) {
		<-c.signals
		end = endResolved
	}
	r.Reader.PassRead()
	return end
}
