package send

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// Budget limits the requests that are sent again to a tenth of all. It is safe for concurrent use.
type Budget struct {
	// Counter counts the requests of the sender. If it is nil, asked counts those that are not yet
	// counted in left. To avoid a write by every request, only one in budgetSample is counted, as
	// budgetSample requests.
	Counter Counter
	asked   atomic.Int64

	spending sync.Mutex // guards what follows
	left     int64      // requests that may be sent again, in tenths
	counted  uint64     // requests of Counter that are in left
}

const (
	// BudgetFirst is how many requests may be sent again at the start: what a few hundred callers have
	// in flight when a server stops.
	BudgetFirst = 256
	// BudgetMost is the most that can be saved up: a few times what a thousand callers have in flight,
	// and a fraction of what a server answers in a second.
	BudgetMost = 4096
	// BudgetShare is how many requests allow one retry.
	BudgetShare = 10
	// BudgetCost is the price of a retry, which itself counts as a request.
	BudgetCost   = BudgetShare + 1
	budgetSample = 64
)

// NewBudget returns the budget of a sender. The counter may be nil.
func NewBudget(counter Counter) *Budget {
	return &Budget{Counter: counter, left: BudgetFirst * BudgetShare}
}

// Spender is the [Backend] of a sender that sends requests again itself. Others that do so for it share its
// budget.
type Spender interface {
	Budget() *Budget
}

// Count counts n requests, unless the sender does.
func (b *Budget) Count(n int) {
	if b.Counter == nil {
		b.Sample(n)
	}
}

// Sample counts n requests.
func (b *Budget) Sample(n int) {
	if n < budgetSample && int(rand.Uint32()%budgetSample) >= n {
		return
	}
	b.asked.Add(int64(max(n, budgetSample)))
}

// Take reports whether one request may be sent again, and counts it.
func (b *Budget) Take() bool {
	b.spending.Lock()
	defer b.spending.Unlock()
	asked := b.asked.Swap(0)
	if b.Counter != nil {
		total := b.Counter.Requests()
		asked = int64(total - min(total, b.counted))
		b.counted = total
	}
	b.left = min(b.left+asked, BudgetMost*BudgetShare)
	if b.left < BudgetCost {
		return false
	}
	b.left -= BudgetCost
	return true
}
