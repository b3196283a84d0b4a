package redis

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// budget bounds what is sent again to a tenth of the requests. It is safe for concurrent use.
type budget struct {
	// asked counts requests that are not yet counted in left. To avoid a write by every request,
	// only one in budgetSample is counted, as budgetSample requests.
	asked atomic.Int64

	spending sync.Mutex // guards left
	left     int64      // what may be sent again, in tenths
}

const (
	// budgetFirst is how many requests may be sent again at the start. budgetMost is the most that
	// can be saved up: a few times what a thousand callers have in flight, and a fraction of what a
	// server answers in a second.
	budgetFirst = 64
	budgetMost  = 4096
	// budgetShare is the number of requests that allow one to be sent again.
	budgetShare  = 10
	budgetSample = 64
)

// count counts n requests.
func (b *budget) count(n int) {
	if n < budgetSample && int(rand.Uint32()%budgetSample) >= n {
		return
	}
	b.asked.Add(int64(max(n, budgetSample)))
}

// take reports whether one request may be sent again, and counts it.
func (b *budget) take() bool {
	b.spending.Lock()
	defer b.spending.Unlock()
	b.left = min(b.left+b.asked.Swap(0), budgetMost*budgetShare)
	if b.left < budgetShare {
		return false
	}
	b.left -= budgetShare
	return true
}
