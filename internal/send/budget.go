package send

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// Budget limits how many requests are sent again to a share of all requests. It is safe for
// concurrent use.
type Budget struct {
	// Counter counts the requests of the sender. If it is nil, asked counts those that are not yet
	// counted in left. So that not every request writes to memory, only one request in budgetSample
	// is counted, as budgetSample requests.
	Counter Counter
	asked   atomic.Int64
	share   int64 // how many requests allow one to be sent again

	spending sync.Mutex // guards the fields below
	left     int64      // requests that no retry has used up yet
	counted  uint64     // requests of Counter that are in left
}

const (
	// BudgetFirst is how many requests may be sent again at the start, times BudgetShare. It is
	// about what a few hundred callers have in flight when a server stops.
	BudgetFirst = 256
	// BudgetMost is the most that can be saved up, times BudgetShare. It is a few times what a
	// thousand callers have in flight, and a fraction of what a server answers in a second.
	BudgetMost = 4096
	// BudgetShare is the number of requests that allow one request to be sent again.
	BudgetShare  = 10
	budgetSample = 64
)

// NewBudget returns the budget of a sender: for each share requests, one may be sent again. The
// counter may be nil.
func NewBudget(counter Counter, share int64) *Budget {
	return &Budget{Counter: counter, share: share, left: BudgetFirst * BudgetShare}
}

// Spender is the [Backend] of a sender that sends requests again itself. A retrier around that
// sender uses the same budget.
type Spender interface {
	Budget() *Budget
}

// Count counts n requests, unless there is a Counter.
func (b *Budget) Count(n int) {
	if b.Counter == nil {
		b.Sample(n)
	}
}

// Sample counts n requests, by sampling.
func (b *Budget) Sample(n int) {
	if n < budgetSample && int(rand.Uint32()%budgetSample) >= n {
		return
	}
	b.asked.Add(int64(max(n, budgetSample)))
}

// Take reports whether n requests may be sent again, and counts them. Either all may, or none. If the most
// is saved up, even more than that may; no others may then until the requests allow all of them.
func (b *Budget) Take(n int) bool { return b.take(n, n) }

// Return undoes a Take(n) that returned true, if the requests were not sent again after all.
func (b *Budget) Return(n int) {
	b.spending.Lock()
	defer b.spending.Unlock()
	b.left += int64(n) * (b.share + 1)
}

// Has reports whether Take(1) would return true.
func (b *Budget) Has() bool { return b.take(1, 0) }

// take reports whether n requests may be sent again, and counts spent of them.
func (b *Budget) take(n, spent int) bool {
	b.spending.Lock()
	defer b.spending.Unlock()
	asked := b.asked.Swap(0)
	if b.Counter != nil {
		total := b.Counter.Requests()
		asked = int64(total - min(total, b.counted))
		b.counted = total
	}
	b.left = min(b.left+asked, BudgetMost*BudgetShare)
	price := b.share + 1 // a request that is sent again also counts as a request
	if b.left < min(int64(n)*price, BudgetMost*BudgetShare) {
		return false
	}
	b.left -= int64(spent) * price
	return true
}
