package engine

import (
	"slices"
	"sort"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// batch is the unit of work: encoded requests and the futures that wait for their replies. It is
// open, and belongs to the queue, until it is taken. Then buf belongs to the writer until the
// writer is done, and the reading goroutine claims the items one after the other. The batch is
// recycled when writer and reader are done, or when all of its requests were withdrawn before it
// was written.
type batch struct {
	buf   []byte
	items []item

	withdrawn      int  // items to be removed before the batch is written
	withdrawnBytes int  // the size of the withdrawn items
	customFutures  bool // has futures that may be cancelled
	internal       int  // the number of the library's own items
	plain          bool // has plain items, so buf is kept until they are answered
	bound          bool // has requests that may be written on the present session only: see Entry.on
	// refused counts the requests that the server answered with an error; unclear counts those that a
	// proxy answered with an error. Both belong to the reader.
	refused, unclear int

	timing.Stages
	offset uint64     // the bytes of all batches taken before this one
	fence  sock.Nonce // the nonce of the PING that ends the batch, with Opts.Integrity
	// blocks is how long the requests may block the server. It is set only in ScriptMode.
	blocks time.Duration
	next   *batch // the next batch in flight

	// unread is the number of bytes in flight when the batch was taken, including the batch's own.
	// It belongs to the writer.
	unread  int
	sent    int          // bytes that reached the socket; owned by the writer until it is done
	claimed atomic.Int64 // how many items are being or have been resolved

	// written and answered are guarded by the queue's lock. When both are set, the batch is
	// recycled.
	written, answered bool
}

// item is one request of a batch.
type item struct {
	future redis.Future
	caller send.Caller // the caller that waits for it, if any
	// done is the Done channel of the caller's context, until the caller is told to listen. It
	// changes only under the queue's lock.
	done <-chan struct{}
	n    uint64
	seq  uint64 // the request's number in its queue
	// start and end bound the request's bytes in the batch. All requests of a transaction have the
	// start of the first one, because they are sent together or not at all.
	start, end int
	stat       *timing.Stat // nil unless the logger wants statistics
	typed      bool         // future is a resp.ReplyDecoder
	observed   bool         // future is a send.Observer
	// plain is set if the connection adds the request to the request's errors: see [batch.request].
	// Otherwise the sender adds the request.
	plain bool
	// internal is set for requests of the library itself. ASKING and fences have no future.
	internal bool
	// multi and exec mark the first and the last item of a transaction. If MULTI is not answered,
	// only the future of EXEC is resolved.
	multi, exec bool
	withdrawn   bool // queue.Withdraw has taken the request back, and counted it
	pinned      bool // must not be removed alone: see pin
}

// lastOf returns the sequence number of the last of the consecutive requests, from item i on, that
// have the same future as item i.
func (b *batch) lastOf(i int) uint64 {
	for i+1 < len(b.items) && b.items[i+1].future == b.items[i].future {
		i++
	}
	return b.items[i].seq
}

// lastSeq returns the sequence number of the batch's last request.
func (b *batch) lastSeq() uint64 { return b.items[len(b.items)-1].seq }

// find returns the index of the item with a sequence number, or the index where it would be.
func (b *batch) find(seq uint64) int {
	return sort.Search(len(b.items), func(i int) bool { return b.items[i].seq >= seq })
}

// begin returns where the bytes of item i begin. In a transaction that differs from item.start.
func (b *batch) begin(i int) int {
	if i == 0 {
		return 0
	}
	return b.items[i-1].end
}

// size returns the number of bytes of the request of item i.
func (b *batch) size(i int) int { return b.items[i].end - b.begin(i) }

// withdraw marks the item with number seq as withdrawn. It returns false if there is no such item,
// if the item is withdrawn already, or if it is pinned.
func (b *batch) withdraw(seq uint64) bool {
	i := b.find(seq)
	if i == len(b.items) {
		return false
	}
	it := &b.items[i]
	if it.seq != seq || it.withdrawn || it.pinned {
		return false
	}
	it.withdrawn, it.future, it.done = true, nil, nil
	b.withdrawn++
	b.withdrawnBytes += it.end - b.begin(i)
	return true
}

// withdrawnLeast is the size up to which withdrawn requests stay in the batch, because removing
// them copies the rest of the batch.
const withdrawnLeast = 64 << 10

// worthCompacting reports whether to remove the withdrawn requests before the batch is taken: if no
// others are left, or if removing them frees much, and more than it copies.
func (b *batch) worthCompacting() bool {
	return b.withdrawn == len(b.items) || b.withdrawnBytes > max(withdrawnLeast, len(b.buf)/2)
}

// compact removes the withdrawn requests and their bytes.
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
	b.withdrawn, b.withdrawnBytes = 0, 0
}

// cancelledItem is an item that was not written because its future is cancelled.
type cancelledItem struct {
	item
	why error
	at  int
}

// cancelled marks the cancelled items as withdrawn and returns them. It asks all futures before it
// marks any, because a future's Cancelled method may end the goroutine.
func (b *batch) cancelled() (items []cancelledItem) {
	for i, it := range b.items {
		if it.withdrawn || it.pinned || it.future == nil {
			continue
		}
		if why := send.WhyCancelled(it.future); why != nil {
			items = append(items, cancelledItem{it, why, i})
		}
	}
	for i := range items {
		it := &items[i]
		if it.plain && it.stat == nil { // compact will remove the bytes that the error needs
			it.stat = &timing.Stat{Req: b.request(it.at)}
		}
		b.items[it.at].withdrawn = true
		b.withdrawn++
	}
	return items
}

// request decodes the request of plain item i for an error. It does not use the caller's arguments,
// which may have changed since.
func (b *batch) request(i int) redis.Request { return requestOf(b.bytes(i)) }

// bytes returns the encoded request of a plain item until it is answered.
func (b *batch) bytes(i int) []byte { return b.buf[b.begin(i):b.items[i].end] }

// requestOf decodes an encoded request.
func requestOf(encoded []byte) redis.Request {
	r := send.Request{Buf: encoded}
	r.Cmd = string(r.Arg(0))
	return redis.Request{Cmd: r.Cmd, Args: r.Args()}
}

// mark is a position in an open batch.
type mark struct{ bytes, items, internal int }

func (b *batch) mark() mark { return mark{len(b.buf), len(b.items), b.internal} }

// add adds request r, which has the number seq in its queue.
func (b *batch) add(r *send.Request, fut redis.Future, n, seq uint64, st *timing.Stat) *item {
	start := len(b.buf)
	b.buf = append(b.buf, r.Buf...)
	it := b.nextItem()
	it.future, it.n, it.seq = fut, n, seq
	it.start, it.end = start, len(b.buf)
	it.caller, it.typed, it.observed, it.plain = r.Caller, r.Typed, r.Observed, r.Plain
	if st != nil { // a logger needs the result, so the future must not decode the reply
		it.stat, it.typed = st, false
	}
	b.plain = b.plain || r.Plain
	if r.Caller != nil || fut == nil {
		return it // a waiting caller withdraws its request itself, so its future need not be asked
	}
	switch fut.(type) {
	case redis.FuncFuture, send.Internal: // never cancelled
	default:
		b.customFutures = true
	}
	return it
}

// nextItem appends a zero item and returns it. The caller fills it in place: copying an item right
// after filling it would wait until the processor has stored its fields.
func (b *batch) nextItem() *item {
	n := len(b.items)
	if n == cap(b.items) {
		b.items = slices.Grow(b.items, 1)
	}
	b.items = b.items[:n+1]
	return &b.items[n]
}

// unclaimed returns the index of the oldest unclaimed item. ok is false if claimRest has
// claimed the rest, because the session has failed.
func (b *batch) unclaimed() (i int, ok bool) {
	i = int(b.claimed.Load())
	return i, i < len(b.items)
}

// claim claims item next. It returns false if claimRest has claimed all remaining items.
func (b *batch) claim(next int) bool {
	return b.claimed.CompareAndSwap(int64(next), int64(next+1))
}

// claimRest claims all items that are not claimed yet, and returns the index
// of the first.
func (b *batch) claimRest() int { return int(b.claimed.Swap(int64(len(b.items)))) }
