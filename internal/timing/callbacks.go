package timing

import "sync/atomic"

// Callbacks measures for how long futures of users hold who reads. It runs from the first
// such future until the reader waits for more bytes, or passes the right to read on. Only
// the holder of that right may start and stop it; anybody may ask what has elapsed. A nil
// one, of a socket without batches, stands still.
type Callbacks struct {
	since atomic.Int64 // when it was started, or 0
	total atomic.Int64 // what it has run before
}

// Start starts it, unless it runs.
func (c *Callbacks) Start() {
	if c != nil && c.since.Load() == 0 {
		c.since.Store(int64(Clock()))
	}
}

// Stop stops it, if it runs.
func (c *Callbacks) Stop() {
	if c == nil {
		return
	}
	if since := c.since.Load(); since != 0 {
		c.total.Add(int64(Clock()) - since)
		c.since.Store(0)
	}
}
