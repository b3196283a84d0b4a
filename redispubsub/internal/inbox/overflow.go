package inbox

import (
	"time"

	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/pubsub"
)

// Policy is redispubsub.Policy.
type Policy uint8

// The policies.
const (
	DropOldest Policy = iota
	DropNewest
	Block
	EndWithError
)

// String implements fmt.Stringer.
func (p Policy) String() string {
	return pubsub.Named("Policy", uint8(p), "drop oldest", "drop newest", "block", "end with error")
}

// Blocks reports whether Policy is Block.
func (in *Inbox) Blocks() bool { return in.opts.Policy == Block }

// droppedLocked counts a dropped message, and adds it to the gap for dropped messages in a run.
func (in *Inbox) droppedLocked(to *run, of Source, at time.Time) {
	in.counts.Dropped.Add(1)
	g := newGap(of, at, at, BufferFull)
	g.Dropped = 1
	to.addGap(g)
	lifetime.Wake(in.More)
}

// fitLocked applies the policy to a message of the given size. With DropOldest it makes room. It returns
// Taken if the message must be added.
func (in *Inbox) fitLocked(of Source, size int, now time.Time) Outcome {
	if in.queue.fits(size) {
		return Taken
	}
	switch in.opts.Policy {
	case Block:
		return Full
	case DropOldest:
		in.queue.evict(size, func(m Message) { in.droppedLocked(&in.queue.front, m.source(), m.Time) })
		return Taken
	}
	in.droppedLocked(&in.queue.tail, of, now)
	if in.opts.Policy == EndWithError {
		in.endLocked(pubsub.ErrFull.New("the consumer is slower than the publishers"))
		return Overflown
	}
	return Dropped
}
