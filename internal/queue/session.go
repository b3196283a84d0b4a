package queue

import (
	"sync/atomic"

	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/internal/wire"
)

// Session is what the queue knows of the socket that it is connected to: to whom the rights
// go. All but Both, Listens and first stays as it is.
type Session struct {
	// Reader is what callers that get the right to read use.
	Reader wire.Reader
	// Wake passes the right to write to the writer goroutine, with a batch in flight that
	// is not written, or not whole, or nil for the open batch. It has room for one.
	Wake chan *Batch
	// MayPass: callers may read. MayExchange: a caller that has both rights may write and
	// wait for the reply in one step.
	MayPass, MayExchange bool
	// Calls measures what futures take.
	Calls *timing.Callbacks
	// Received returns how many bytes were received.
	Received func() int64

	// Both: the caller that has been given the right to read has the right to write, too,
	// and is to use it first. It belongs to the holder of the right to read.
	Both bool
	// Listens: the caller that has the right to read is to heed its context from now on, if it
	// did not. It is written under the lock, and does not outlast the right.
	Listens atomic.Bool
	// first is the batch that the holder of the right to write is to write first: it is in
	// flight already, and nothing else is. Who takes it out has it: that holder or, under
	// the lock, who takes it back.
	first atomic.Pointer[Batch]
}

// TakeFirst takes out the batch that is in flight already, though nobody has begun to write
// it. It returns nil if there is none.
func (s *Session) TakeFirst() *Batch {
	if s.first.Load() == nil {
		return nil
	}
	return s.first.Swap(nil)
}
