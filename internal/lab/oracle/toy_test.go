package oracle

import (
	"math/rand"

	"github.com/joomcode/redispipe/redis"
)

// toyServer executes the few commands that the oracle's requests use.
type toyServer struct {
	strings map[string]string
	lists   map[string][]string
	counts  map[string]int64
}

func newToyServer() *toyServer {
	return &toyServer{map[string]string{}, map[string][]string{}, map[string]int64{}}
}

func (s *toyServer) execute(r redis.Request) any {
	arg := func(i int) string {
		v, _ := redis.ArgToString(r.Args[i])
		return v
	}
	switch r.Cmd {
	case "ECHO":
		return []byte(arg(0))
	case "SET":
		s.strings[arg(0)] = arg(1)
		return "OK"
	case "GET":
		if v, ok := s.strings[arg(0)]; ok {
			return []byte(v)
		}
		return nil
	case "RPUSH":
		s.lists[arg(0)] = append(s.lists[arg(0)], arg(1))
		return int64(len(s.lists[arg(0)]))
	case "INCR":
		s.counts[arg(0)]++
		return s.counts[arg(0)]
	}
	return redis.ErrResult.New("ERR unknown command")
}

type toyCall struct {
	req redis.Request
	cb  redis.Future
	n   uint64
}

func (c toyCall) resolve(res any) { c.cb.Resolve(res, c.n) }

var (
	errToyNotSent = redis.ErrContextClosed.New("toy: not sent")
	errToyUnknown = redis.ErrIO.New("toy: broken")
)

// toyClient is a pipelining client. Planted bugs replace some of its methods. It sends toyBatch
// requests at a time.
type toyClient struct {
	server *toyServer
	bug    toyBug
	rnd    *rand.Rand
	batch  []toyCall
}

const toyBatch = 7

func (c *toyClient) Send(r redis.Request, cb redis.Future, n uint64) {
	c.batch = append(c.batch, c.bug.queue(c, toyCall{r, cb, n}))
	if len(c.batch) >= toyBatch {
		c.flush()
	}
}

// flush writes a batch. In one of four batches the connection breaks at a random request: that
// request runs, but has no reply, and the requests after it are not written.
func (c *toyClient) flush() {
	batch := c.bug.write(c, c.batch)
	c.batch = nil
	broken := len(batch)
	if c.rnd.Intn(4) == 0 {
		broken = c.rnd.Intn(len(batch) + 1)
	}
	results := make([]any, len(batch))
	for i, call := range batch {
		switch {
		case i < broken:
			results[i] = c.server.execute(call.req)
		case i == broken:
			c.server.execute(call.req)
			results[i] = errToyUnknown
		default:
			results[i] = errToyNotSent
		}
	}
	c.bug.deliver(c, batch, results)
}

func (c *toyClient) Close() { c.bug.close(c, c.batch) }

// toyBug contains the methods that a bug can replace.
type toyBug interface {
	queue(c *toyClient, call toyCall) toyCall             // when a request is sent
	write(c *toyClient, batch []toyCall) []toyCall        // when a batch is written
	deliver(c *toyClient, batch []toyCall, results []any) // when replies have come
	close(c *toyClient, pending []toyCall)                // at the end
}

// toyClean has no bug.
type toyClean struct{}

func (toyClean) queue(_ *toyClient, call toyCall) toyCall      { return call }
func (toyClean) write(_ *toyClient, batch []toyCall) []toyCall { return batch }
func (toyClean) deliver(_ *toyClient, batch []toyCall, results []any) {
	for i, call := range batch {
		call.resolve(results[i])
	}
}
func (toyClean) close(_ *toyClient, pending []toyCall) {
	for _, call := range pending {
		call.resolve(errToyNotSent)
	}
}

// These are the planted bugs. Each is a toyClean with one other method.

type swapFutures struct{ toyClean }

func (b swapFutures) deliver(c *toyClient, batch []toyCall, results []any) {
	if len(results) > 1 && c.rnd.Intn(20) == 0 {
		results[0], results[1] = results[1], results[0]
	}
	b.toyClean.deliver(c, batch, results)
}

type skipReply struct{ toyClean }

func (b skipReply) deliver(c *toyClient, batch []toyCall, results []any) {
	if c.rnd.Intn(20) == 0 {
		results = append(results[1:], errToyUnknown)
	}
	b.toyClean.deliver(c, batch, results)
}

type resolveTwice struct{ toyClean }

func (b resolveTwice) deliver(c *toyClient, batch []toyCall, results []any) {
	b.toyClean.deliver(c, batch, results)
	if c.rnd.Intn(50) == 0 {
		batch[0].resolve(results[0])
	}
}

type unknownAsNotSent struct{ toyClean }

func (b unknownAsNotSent) deliver(c *toyClient, batch []toyCall, results []any) {
	for i, res := range results {
		if res == any(errToyUnknown) {
			results[i] = errToyNotSent
		}
	}
	b.toyClean.deliver(c, batch, results)
}

type retryWrite struct{ toyClean }

func (b retryWrite) deliver(c *toyClient, batch []toyCall, results []any) {
	for i, res := range results {
		if res == any(errToyUnknown) {
			results[i] = c.server.execute(batch[i].req)
		}
	}
	b.toyClean.deliver(c, batch, results)
}

type dropOnClose struct{ toyClean }

func (dropOnClose) close(*toyClient, []toyCall) {}

type loseBatch struct{ toyClean }

func (loseBatch) write(c *toyClient, batch []toyCall) []toyCall {
	if c.rnd.Intn(50) == 0 {
		return nil
	}
	return batch
}

// shareReply delivers slices of one buffer, which it reuses for the next batch.
type shareReply struct {
	toyClean
	buf []byte
}

func (b *shareReply) deliver(c *toyClient, batch []toyCall, results []any) {
	b.buf = b.buf[:0]
	for i, res := range results {
		if value, ok := res.([]byte); ok {
			begin := len(b.buf)
			b.buf = append(b.buf, value...)
			results[i] = b.buf[begin:len(b.buf):len(b.buf)]
		}
	}
	b.toyClean.deliver(c, batch, results)
}

// shareRequest encodes the first argument of all requests into one buffer.
type shareRequest struct {
	toyClean
	buf [64]byte
}

func (b *shareRequest) queue(_ *toyClient, call toyCall) toyCall {
	if call.req.Cmd == "ECHO" {
		s, _ := redis.ArgToString(call.req.Args[0])
		n := copy(b.buf[:], s)
		call.req = redis.Req("ECHO", b.buf[:n])
	}
	return call
}

// reorder writes a batch backwards. Each request still gets its own reply.
type reorder struct{ toyClean }

func (reorder) write(c *toyClient, batch []toyCall) []toyCall {
	if c.rnd.Intn(20) == 0 {
		for i, j := 0, len(batch)-1; i < j; i, j = i+1, j-1 {
			batch[i], batch[j] = batch[j], batch[i]
		}
	}
	return batch
}

// falseAck reports requests that were not sent as acknowledged.
type falseAck struct{ toyClean }

func (b falseAck) deliver(c *toyClient, batch []toyCall, results []any) {
	for i, res := range results {
		if batch[i].req.Cmd == "RPUSH" && res == any(errToyNotSent) {
			results[i] = int64(1)
		}
	}
	b.toyClean.deliver(c, batch, results)
}

// sendLater reports a request as not sent, and leaves it in the queue.
type sendLater struct{ toyClean }

func (b sendLater) deliver(c *toyClient, batch []toyCall, results []any) {
	for i, res := range results {
		if res == any(errToyNotSent) {
			call := batch[i]
			call.cb = redis.FuncFuture(func(any, uint64) {})
			c.batch = append(c.batch, call)
		}
	}
	b.toyClean.deliver(c, batch, results)
}

// staleReply delivers a late reply on the next connection.
type staleReply struct {
	toyClean
	stale any
}

func (b *staleReply) deliver(c *toyClient, batch []toyCall, results []any) {
	if b.stale != nil && len(results) > 0 {
		results = append([]any{b.stale}, results[:len(results)-1]...)
		b.stale = nil
	}
	if c.rnd.Intn(20) == 0 && len(results) > 0 {
		b.stale = results[len(results)-1]
		results[len(results)-1] = errToyUnknown
	}
	b.toyClean.deliver(c, batch, results)
}

// reuseFuture reuses the future of a request whose caller has left for the next request, which then
// gets the late reply. The reply of the next request is dropped, and the request after that gets
// null.
type reuseFuture struct{ toyClean }

func (b reuseFuture) deliver(c *toyClient, batch []toyCall, results []any) {
	if len(results) > 2 && c.rnd.Intn(20) == 0 {
		results[1], results[2] = results[0], nil
		results[0] = errToyUnknown
	}
	b.toyClean.deliver(c, batch, results)
}

type truncateValue struct{ toyClean }

func (b truncateValue) deliver(c *toyClient, batch []toyCall, results []any) {
	for i, res := range results {
		if value, ok := res.([]byte); ok && c.rnd.Intn(50) == 0 {
			results[i] = value[:len(value)-1]
		}
	}
	b.toyClean.deliver(c, batch, results)
}

// replay writes the last batch again after it was acknowledged.
type replay struct{ toyClean }

func (b replay) deliver(c *toyClient, batch []toyCall, results []any) {
	b.toyClean.deliver(c, batch, results)
	if c.rnd.Intn(50) == 0 {
		c.server.execute(batch[0].req)
	}
}

type plainError struct{ toyClean }

func (b plainError) close(_ *toyClient, pending []toyCall) {
	for _, call := range pending {
		call.resolve(errPlain)
	}
}

type leakGoroutine struct {
	toyClean
	forever chan struct{}
}

func (b leakGoroutine) close(c *toyClient, pending []toyCall) {
	go func() { <-b.forever }()
	b.toyClean.close(c, pending)
}
