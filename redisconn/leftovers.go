package redisconn

import (
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"
)

// leftovers are the requests of a session, or of an attempt to make one, that
// ended before they were answered.
type leftovers struct {
	c     *Connection
	items []leftover
	next  atomic.Int64
}

type leftover struct {
	item
	err *errorx.Error
}

// A future that holds its caller keeps the others waiting no longer than this.
const leftoverPatience = 20 * time.Millisecond

// collect takes over the items of a list of batches that nobody has claimed.
// They get unknown if any of their bytes were written, else unsent.
func (l *leftovers) collect(b *batch, unsent, unknown *errorx.Error) {
	for ; b != nil; b = b.next {
		for i := b.claimRest(); i < len(b.items); i++ {
			it := b.items[i]
			if it.fut == nil {
				continue
			}
			err := unsent
			if it.start < b.sent {
				err = unknown
			}
			l.items = append(l.items, leftover{it, err})
		}
	}
}

// resolve resolves all, in order, in goroutines of its own: a future may block.
// It returns at once.
func (l *leftovers) resolve() {
	if len(l.items) > 0 {
		l.work(0)
	}
}

// work starts a goroutine that resolves until nothing is left, and looks after
// it: when a future has blocked it, another one goes on.
func (l *leftovers) work(from int64) {
	go func() {
		for {
			i := l.next.Add(1) - 1
			if i >= int64(len(l.items)) {
				return
			}
			it := &l.items[i]
			l.c.resolve(it.fut, it.err, it.n)
		}
	}()
	time.AfterFunc(leftoverPatience, func() { l.watch(from) })
}

func (l *leftovers) watch(from int64) {
	switch at := l.next.Load(); {
	case at >= int64(len(l.items)):
	case at == from:
		l.work(at)
	default:
		time.AfterFunc(leftoverPatience, func() { l.watch(at) })
	}
}
