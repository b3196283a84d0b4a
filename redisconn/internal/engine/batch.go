package engine

import (
	"sort"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/request"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// Batch is the unit of work: encoded requests and the futures that wait for their replies.
// It is open, and belongs to the queue, until it is taken. Then Buf belongs to the writer
// until that is done, and the goroutine that reads claims the items one after the other.
// It is recycled when both are done, or when all of it was withdrawn before it was
// written.
type Batch struct {
	Buf   []byte
	Items []Item

	withdrawn      int  // items to be removed before it is written
	withdrawnBytes int  // their size
	customFutures  bool // has futures that may be cancelled
	own            int  // items of the library's own
	plain          bool // has plain items: Buf is kept until they are answered
	// Refused counts requests that were answered with an error; the reader's.
	Refused int

	timing.Stages
	offset uint64     // bytes that were taken before
	Fence  sock.Nonce // of the PING that ends it, if the queue is fenced
	// Blocks is how long its requests may block, where that matters.
	Blocks time.Duration
	Next   *Batch // in flight

	// Unread is how many bytes were in flight with it when it was taken; the writer's.
	Unread  int
	Sent    int          // bytes that reached the socket; the writer's until it is done
	claimed atomic.Int64 // how many items are being or have been resolved

	// Guarded by the queue's lock: the second to finish recycles.
	written, answered bool
}

// Item is one request of a batch.
type Item struct {
	Future redis.Future
	Caller send.Caller // the caller that waits for it, if any
	// done is that of the caller's context, until the caller is told to listen to that. It
	// changes only under the queue's lock.
	done <-chan struct{}
	N    uint64
	Seq  uint64 // the request's number in its queue
	// Start and end bound the request's bytes in the batch. All requests of a transaction
	// have the Start of the first: they are sent together or not.
	Start, end int
	Stat       *Stat // where the logger wants statistics
	Typed      bool  // Future is a resp.ReplyDecoder
	Observed   bool  // Future is a send.Observer
	// Plain requests are named by the connection in their errors: see [Batch.Request]. The
	// others are named by what has sent them.
	Plain bool
	// Internal items the library has sent for itself. ASKING and fences are those without a future.
	Internal bool
	// Multi and Exec mark the first and the last item of a transaction. If MULTI is not
	// answered, its future is not resolved: only that of EXEC is.
	Multi, Exec bool
	withdrawn   bool
	pinned      bool // may not be dropped alone, see pin
}

// Withdrawn reports whether Queue.Withdraw has taken the request back, and counted it.
func (it *Item) Withdrawn() bool { return it.withdrawn }

// Stat is what the statistics of a request need.
type Stat struct {
	Req   redis.Request
	Start time.Time
}

// lastOf returns the sequence number of the last request, from item i on, that the same
// caller waits for.
func (b *Batch) lastOf(i int) uint64 {
	for i+1 < len(b.Items) && b.Items[i+1].Future == b.Items[i].Future {
		i++
	}
	return b.Items[i].Seq
}

// lastSeq returns the sequence number of its last request.
func (b *Batch) lastSeq() uint64 { return b.Items[len(b.Items)-1].Seq }

// find returns the index of the item of a sequence number, or where it would be.
func (b *Batch) find(seq uint64) int {
	return sort.Search(len(b.Items), func(i int) bool { return b.Items[i].Seq >= seq })
}

// begin returns where the bytes of the item of index i begin. For a request of
// a transaction that is not Item.Start.
func (b *Batch) begin(i int) int {
	if i == 0 {
		return 0
	}
	return b.Items[i-1].end
}

// Size returns how many bytes the request of the item of index i has.
func (b *Batch) Size(i int) int { return b.Items[i].end - b.begin(i) }

// withdraw marks the item of a sequence number as withdrawn, if it is there.
func (b *Batch) withdraw(seq uint64) bool {
	i := b.find(seq)
	if i == len(b.Items) {
		return false
	}
	it := &b.Items[i]
	if it.Seq != seq || it.withdrawn || it.pinned {
		return false
	}
	it.withdrawn, it.Future, it.done = true, nil, nil
	b.withdrawn++
	b.withdrawnBytes += it.end - b.begin(i)
	return true
}

// withdrawnLeast is how many bytes of withdrawn requests a batch may hold, whatever
// its size: removing them takes a copy of the rest.
const withdrawnLeast = 64 << 10

// worthCompacting reports whether enough of the batch is withdrawn to copy the rest: no
// more bytes are copied than are freed.
func (b *Batch) worthCompacting() bool {
	return b.withdrawn == len(b.Items) || b.withdrawnBytes > max(withdrawnLeast, len(b.Buf)/2)
}

// compact removes what is withdrawn.
func (b *Batch) compact() {
	kept, size, end := b.Items[:0], 0, 0
	for _, it := range b.Items {
		begin := end
		end = it.end
		if it.withdrawn {
			continue
		}
		it.Start -= begin - size
		size += copy(b.Buf[size:], b.Buf[begin:end])
		it.end = size
		kept = append(kept, it)
	}
	clear(b.Items[len(kept):])
	b.Items, b.Buf = kept, b.Buf[:size]
	b.withdrawn, b.withdrawnBytes = 0, 0
}

// Cancelled is an item that was not written, since its future is cancelled.
type Cancelled struct {
	Item
	Why error
	at  int
}

// cancelled marks the cancelled items as withdrawn, and returns them. It asks all futures
// before it marks any, since a future may end the goroutine.
func (b *Batch) cancelled() (items []Cancelled) {
	for i, it := range b.Items {
		if it.withdrawn || it.pinned || it.Future == nil {
			continue
		}
		if why := send.WhyCancelled(it.Future); why != nil {
			items = append(items, Cancelled{it, why, i})
		}
	}
	for i := range items {
		it := &items[i]
		if it.Plain && it.Stat == nil { // its bytes are removed
			it.Stat = &Stat{Req: b.Request(it.at)}
		}
		b.Items[it.at].withdrawn = true
		b.withdrawn++
	}
	return items
}

// Request decodes the request of the plain item of index i, so that an error can name it:
// the caller may have changed the arguments since.
func (b *Batch) Request(i int) redis.Request { return RequestOf(b.Bytes(i)) }

// Bytes returns the encoded request of a plain item, as long as it is not answered.
func (b *Batch) Bytes(i int) []byte { return b.Buf[b.begin(i):b.Items[i].end] }

// RequestOf makes a request of an encoded one.
func RequestOf(encoded []byte) redis.Request {
	r := send.Request{Buf: encoded}
	r.Cmd = string(r.Arg(0))
	return redis.Request{Cmd: r.Cmd, Args: r.Args()}
}

// NameElements adds the requests of a transaction to the errors among its results. i is
// the index of EXEC, res the answer to it.
func (b *Batch) NameElements(i int, res any) {
	results, ok := res.([]any)
	if !ok || len(results) > i {
		return
	}
	first := i - len(results)
	for j, el := range results {
		if err, failed := el.(*errorx.Error); failed && b.Items[first+j].Plain {
			results[j] = err.WithProperty(redis.EKRequest, b.Request(first+j))
		}
	}
}

// The envelopes: what the library puts around requests.
var (
	asking = envelope("ASKING")
	multi  = envelope("MULTI")
	exec   = envelope("EXEC")
)

func envelope(cmd string) *send.Request {
	r, _, _ := request.Encode(nil, redis.Req(cmd), false)
	return &r
}

// addEnvelope adds an envelope.
func (b *Batch) addEnvelope(r *send.Request, fut redis.Future, n, seq uint64, st *Stat) *Item {
	it := b.add(r, fut, n, seq, st)
	it.Caller = send.CallerOf(fut)
	b.own++
	return it
}

const fencePrefix = "*2\r\n$4\r\nPING\r\n$16\r\n"

// enclose ends the batch with a fence: a PING whose echo shows that replies and requests
// are in step.
func (b *Batch) enclose() {
	b.Fence = sock.NewNonce()
	start := len(b.Buf)
	b.Buf = append(b.Buf, fencePrefix...)
	b.Buf = append(b.Buf, b.Fence[:]...)
	b.Buf = append(b.Buf, '\r', '\n')
	b.Items = append(b.Items, Item{Seq: b.lastSeq(), Start: start, end: len(b.Buf), Internal: true})
	b.own++
}

// pin keeps together the items added since m: a transaction, or ASKING and its request.
func (b *Batch) pin(m mark) {
	for i := m.items; i < len(b.Items); i++ {
		b.Items[i].pinned, b.Items[i].Start = true, m.bytes
	}
}
