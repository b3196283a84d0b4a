package redis

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/joomcode/redispipe/internal/send"
)

// budget limits the retries to a tenth of the requests. It is safe for concurrent use.
type budget struct {
	// counter counts the requests of the sender. If it is nil, asked counts those that are not yet
	// counted in left. To avoid a write by every request, only one in budgetSample is counted, as
	// budgetSample requests.
	counter send.Counter
	asked   atomic.Int64

	spending sync.Mutex // guards what follows
	left     int64      // requests that may be sent again, in tenths
	counted  uint64     // requests of counter that are in left
}

const (
	// budgetFirst is how many requests may be sent again at the start. budgetMost is the most that
	// can be saved up: a few times what a thousand callers have in flight, and a fraction of what a
	// server answers in a second.
	budgetFirst = 64
	budgetMost  = 4096
	// budgetShare is how many requests allow one retry.
	budgetShare = 10
	// budgetCost is the price of a retry, which itself counts as a request.
	budgetCost   = budgetShare + 1
	budgetSample = 64
)

// count counts n requests, unless the sender does.
func (b *budget) count(n int) {
	if b.counter == nil {
		b.sample(n)
	}
}

func (b *budget) sample(n int) {
	if n < budgetSample && int(rand.Uint32()%budgetSample) >= n {
		return
	}
	b.asked.Add(int64(max(n, budgetSample)))
}

// take reports whether one request may be sent again, and counts it.
func (b *budget) take() bool {
	b.spending.Lock()
	defer b.spending.Unlock()
	asked := b.asked.Swap(0)
	if b.counter != nil {
		total := b.counter.Requests()
		asked = int64(total - min(total, b.counted))
		b.counted = total
	}
	b.left = min(b.left+asked, budgetMost*budgetShare)
	if b.left < budgetCost {
		return false
	}
	b.left -= budgetCost
	return true
}
