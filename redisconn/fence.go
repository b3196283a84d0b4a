package redisconn

import "github.com/joomcode/redispipe/redis"

const fencePrefix = "*2\r\n$4\r\nPING\r\n$16\r\n"

// enclose ends the batch with a fence.
func (b *batch) enclose() {
	b.fence = newNonce()
	start := len(b.buf)
	b.buf = append(b.buf, fencePrefix...)
	b.buf = append(b.buf, b.fence[:]...)
	b.buf = append(b.buf, '\r', '\n')
	last := b.items[len(b.items)-1].seq // it has no number of its own
	b.items = append(b.items, item{seq: last, start: start, end: len(b.buf)})
	b.own++
}

// answerFenced reads the replies of a whole batch, and resolves its requests
// if the fence holds.
func (r *reader) answerFenced(b *batch) bool {
	for len(r.held) < len(b.items) {
		res, err := r.dec.Decode()
		if err != nil {
			r.s.fail(redis.AsErrorx(err))
			return false
		}
		r.held = append(r.held, reply{res, r.dec.Size()})
	}
	if echo := r.held[len(r.held)-1].res; !b.fence.is(echo) && !pingRefused(echo) {
		r.s.fail(redis.ErrPing.New("a fence was answered with something else"))
		return false
	}
	// A future that panics interrupts this; what is claimed is done. After the
	// last item the batch is no longer the reader's.
	size := len(b.items)
	next, ok := b.unclaimed()
	if !ok {
		return false
	}
	for ; next < size; next++ {
		if !b.claim(next) {
			return false
		}
		held := r.held[next]
		if next+1 == size {
			clear(r.held)
			r.held = r.held[:0]
		}
		r.resolve(b, next, held)
	}
	return true
}
