package redisconn

import (
	"slices"
	"sort"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// item is one request of a batch.
type item struct {
	fut Future
	n   uint64
	seq uint64 // the request's number on its connection
	// start and end bound the request's bytes in the batch. All requests of a
	// transaction have the start of the first: they are sent together or not.
	start, end int
	stat       *stat // where the logger wants statistics
	typed      bool  // fut is a replyDecoder
	waits      bool  // fut is a wire.Caller
	observed   bool  // fut is a wire.Observer
	withdrawn  bool
	pinned     bool // may not be dropped alone, see pin
	// plain requests are named by the connection in their errors: see named.go. The
	// others are named by what has sent them.
	plain bool
	// multi and exec are what a transaction begins and ends with. If MULTI is not
	// answered its future is not resolved: that of EXEC is, for both.
	multi, exec bool
}

// batch is the unit of work: encoded requests and the futures that wait for
// their replies. It is open (guarded by queue.mu) until it is taken, then the
// writer owns buf and the reader claims the items one after the other. It is
// recycled when both are done.
type batch struct {
	buf   []byte
	items []item

	withdrawn     int  // items to be removed before it is written
	gone          int  // their bytes
	customFutures bool // has futures whose Cancelled is worth asking
	own           int  // items that are the library's own
	refused       int  // requests that were answered with an error; the reader's
	plain         bool // has plain items: buf is kept until they are answered

	timing.Stages
	lastSeq uint64 // of its last request
	offset  uint64 // bytes that were taken before
	fence   nonce  // of the PING that ends it, with Opts.Integrity
	// blocks is for how long its requests may block, in ScriptMode.
	blocks time.Duration
	next   *batch // in flight

	sent    int          // bytes that reached the socket; the writer's until it is done
	claimed atomic.Int64 // items that somebody resolves or has resolved

	// Guarded by queue.mu: the second to finish recycles.
	written, answered bool
}

// mark is a place in an open batch.
type mark struct{ bytes, items, own int }

func (b *batch) mark() mark { return mark{len(b.buf), len(b.items), b.own} }

// add adds a request. seq is its number on its connection.
func (b *batch) add(r *wire.Request, fut Future, n, seq uint64, st *stat) {
	start := len(b.buf)
	b.buf = append(b.buf, r.Buf...)
	it := b.nextItem()
	it.fut, it.n, it.seq = fut, n, seq
	it.start, it.end = start, len(b.buf)
	it.typed, it.waits, it.observed, it.plain = r.Typed, r.Waits, r.Observed, r.Plain
	if st != nil { // a logger wants the result
		it.stat, it.typed = st, false
	}
	b.plain = b.plain || r.Plain
	if r.Waits || fut == nil {
		return // a caller that waits takes its request back by itself
	}
	switch _, function := fut.(redis.FuncFuture); {
	case isOwn(fut):
		b.own++
	case !function:
		b.customFutures = true
	}
}

// nextItem adds an item that is zero. It is written in place: a copy of an item that has
// just been written field by field waits until the processor has stored all of them.
func (b *batch) nextItem() *item {
	n := len(b.items)
	if n == cap(b.items) {
		b.items = slices.Grow(b.items, 1)
	}
	b.items = b.items[:n+1]
	return &b.items[n]
}

// pin keeps together what was added since m: a transaction, or ASKING and what it
// is for.
func (b *batch) pin(m mark) {
	for i := m.items; i < len(b.items); i++ {
		b.items[i].pinned, b.items[i].start = true, m.bytes
	}
}

// lastOf returns the sequence number of the last of the requests from item i on
// that one caller waits for.
func (b *batch) lastOf(i int) uint64 {
	for i+1 < len(b.items) && b.items[i+1].fut == b.items[i].fut {
		i++
	}
	return b.items[i].seq
}

// reset empties the batch, which has no buffer any more.
func (b *batch) reset() {
	items := b.items
	clear(items)
	*b = batch{items: items[:0]}
}

// unclaimed returns the index of the oldest item that nobody has claimed. It is not ok
// if claimRest has taken what was left: the session has failed then.
func (b *batch) unclaimed() (i int, ok bool) {
	i = int(b.claimed.Load())
	return i, i < len(b.items)
}

// claim claims the item of index next; it returns false if all that are left
// were claimed by claimRest.
func (b *batch) claim(next int) bool {
	return b.claimed.CompareAndSwap(int64(next), int64(next+1))
}

// claimRest claims all items that are not claimed yet, and returns the index
// of the first.
func (b *batch) claimRest() int { return int(b.claimed.Swap(int64(len(b.items)))) }

// compact removes what is withdrawn.
func (b *batch) compact() {
	kept, size, end := b.items[:0], 0, 0
	for _, it := range b.items {
		begin := end
		end = it.end
		if it.withdrawn {
			continue
		}
		it.start -= begin - size
		size += copy(b.buf[size:], b.buf[begin:end])
		it.end = size
		kept = append(kept, it)
	}
	clear(b.items[len(kept):])
	b.items, b.buf = kept, b.buf[:size]
	b.withdrawn, b.gone = 0, 0
}

// find returns the index of the item of a sequence number, or where it would be.
func (b *batch) find(seq uint64) int {
	return sort.Search(len(b.items), func(i int) bool { return b.items[i].seq >= seq })
}

// withdraw marks the item of a sequence number as withdrawn, if it is there.
func (b *batch) withdraw(seq uint64) bool {
	i := b.find(seq)
	if i == len(b.items) {
		return false
	}
	it := &b.items[i]
	if it.seq != seq || it.withdrawn || it.pinned {
		return false
	}
	it.withdrawn, it.fut = true, nil
	b.withdrawn++
	b.gone += it.end - b.begin(i)
	return true
}

// goneLeast is how many bytes of withdrawn requests a batch may hold, whatever
// its size: removing them takes a copy of the rest.
const goneLeast = 64 << 10

// worthCompacting reports whether enough of the batch is withdrawn for a copy of the
// rest to be worth it: no more bytes are copied than are freed.
func (b *batch) worthCompacting() bool {
	return b.withdrawn == len(b.items) || b.gone > max(goneLeast, len(b.buf)/2)
}

// cancelled marks what is cancelled as withdrawn, and returns it. Nothing is marked
// before all are asked, as a future may end the goroutine.
func (b *batch) cancelled() (items []item) {
	var at []int
	for i, it := range b.items {
		if !it.withdrawn && !it.pinned && it.fut != nil && isCancelled(it.fut) {
			at = append(at, i)
		}
	}
	for _, i := range at {
		gone := b.items[i]
		if gone.plain && gone.stat == nil { // its bytes are removed
			gone.stat = &stat{req: b.request(i)}
		}
		items = append(items, gone)
		b.items[i].withdrawn = true
		b.withdrawn++
	}
	return items
}

// begin returns where the bytes of the item of index i begin. For a request of
// a transaction that is not item.start.
func (b *batch) begin(i int) int {
	if i == 0 {
		return 0
	}
	return b.items[i-1].end
}

// bytes returns the encoded request of a plain item, as long as it is not answered.
func (b *batch) bytes(i int) []byte { return b.buf[b.begin(i):b.items[i].end] }
