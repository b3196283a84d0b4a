package queue

import (
	"time"

	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// Item is one request of a batch.
type Item struct {
	Future redis.Future
	Caller wire.Caller // that waits for it, if any
	N      uint64
	Seq    uint64 // the request's number in its queue
	// Start and end bound the request's bytes in the batch. All requests of a transaction
	// have the Start of the first: they are sent together or not.
	Start, end int
	Stat       *Stat // where the logger wants statistics
	Typed      bool  // Future is a resp.ReplyDecoder
	Observed   bool  // Future is a wire.Observer
	// Plain requests are named by the connection in their errors: see [Batch.Request]. The
	// others are named by what has sent them.
	Plain bool
	Own   bool // the library has sent it for itself
	// Multi and Exec are what a transaction begins and ends with. If MULTI is not
	// answered its future is not resolved: that of EXEC is, for both.
	Multi, Exec bool
	withdrawn   bool
	pinned      bool // may not be dropped alone, see pin
}

// Stat is what statistics of a request need to know of it.
type Stat struct {
	Req   redis.Request
	Start time.Time
}
