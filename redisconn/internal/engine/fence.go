package engine

import (
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
)

// answerFenced reads the replies to a whole batch. If the fence's echo is right, it resolves the
// requests.
func (r *reader) answerFenced(b *batch) bool {
	for len(r.fenced) < len(b.items) {
		res, err := r.dec.Decode()
		if err != nil {
			r.s.fail(unread(err, &b.items[len(r.fenced)]))
			return false
		}
		r.fenced = append(r.fenced, reply{res, r.dec.Size()})
		r.s.held.Add(1)
	}
	if echo := r.fenced[len(r.fenced)-1].res; !b.fence.Is(echo) && !sock.PingRefused(echo) {
		r.s.fail(redis.ErrPing.New("unexpected answer to a fence"))
		return false
	}
	// If a future panics, this loop is interrupted and later continues after the claimed items.
	// After the last item the batch no longer belongs to the reader.
	size := len(b.items)
	next, ok := b.unclaimed()
	if !ok {
		return false
	}
	for ; next < size; next++ {
		if !b.claim(next) {
			return false
		}
		got := r.fenced[next]
		if next+1 == size {
			clear(r.fenced)
			r.fenced = r.fenced[:0]
		}
		r.resolve(b, next, got)
	}
	return true
}
