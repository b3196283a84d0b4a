package route

import (
	"context"
	"sync/atomic"
	"time"
)

// stall lets the reads that wait on a silent link leave it: their callers send them again, over another
// link. The Watch owns the fields that are not atomic.
type stall struct {
	// silent is how long the link had been silent when the Watch last looked at it, or 0 if that was no
	// longer than usual. quiet is set while silent is not 0.
	silent time.Duration
	quiet  atomic.Bool
	// next is how long the link must be silent before reads may leave the next time.
	next time.Duration
	// chance ends when reads may leave, and a new one replaces it. early is set if the last chance
	// ended because of Rules.Hedge. lets is set when a chance ends, until something arrives.
	chance      atomic.Pointer[chance]
	early, lets atomic.Bool
}

// chance is a context that ends when reads may leave a link.
type chance struct {
	context.Context
	end context.CancelFunc
}

func newChance() *chance {
	c := new(chance)
	c.Context, c.end = context.WithCancel(context.Background())
	return c
}

const (
	// stallMoves is how long a link must be silent before the reads that wait on it may leave. A read
	// that leaves is sent twice, which must pay off even if the first node answers soon after.
	stallMoves = 10 * time.Millisecond
	// moveAgain bounds the pause until reads may leave again, if the budget let only some of them leave.
	// The pause is as long as the silence so far, and at most moveAgain.
	moveAgain = 50 * time.Millisecond
)

// is records how long the link has been silent; 0 means no longer than usual.
func (s *stall) is(silent time.Duration) {
	s.silent = silent
	s.quiet.Store(silent > 0)
}

// letLeave tells the callers whose reads wait on the link that they may send them over another link, if
// the link has been silent for long enough and the budget is not empty.
func (l *Link) letLeave() {
	rules, early := l.Node.rules, l.silent < stallMoves
	budget, least := rules.Budget, max(l.next, stallMoves)
	if early && rules.Hedge != nil {
		budget, least = rules.Hedge, l.next
	}
	if l.silent < least || !budget.Has() {
		return
	}
	l.next = max(stallMoves, l.silent+min(l.silent, moveAgain))
	l.early.Store(early)
	l.lets.Store(true)
	l.chance.Swap(newChance()).end()
	if waited := rules.chance.Swap(nil); waited != nil {
		waited.end()
	}
}

// keep revokes the permission of letLeave: the link is no longer silent, so reads stay on it.
func (l *Link) keep() {
	if l.next > 0 {
		l.next = 0
		l.lets.Store(false)
	}
}

// Lets reports whether reads may leave the link, if the budget allows it.
func (l *Link) Lets() bool { return l.lets.Load() }

// Stalled is [Link.Stalled] for all links: the context ends when reads may leave one of them.
func (r *Rules) Stalled() context.Context {
	r.Watch.begin()
	for {
		if c := r.chance.Load(); c != nil {
			return c.Context
		}
		r.chance.CompareAndSwap(nil, newChance())
	}
}

// Stalled implements send.Staller.
func (l *Link) Stalled() context.Context {
	l.Node.rules.Watch.begin()
	return l.chance.Load().Context
}

// Leave implements send.Staller.
func (l *Link) Leave() bool {
	var d Departure
	d.Add(l, 1)
	return l.Node.rules.Leave(d)
}

// Departure counts reads of one caller that leave their links together. early counts those that leave because
// of Rules.Hedge.
type Departure struct{ early, late int }

// Add adds reads that wait on a link.
func (d *Departure) Add(l *Link, reads int) {
	if l.early.Load() {
		d.early += reads
	} else {
		d.late += reads
	}
}

// Leave reports whether the budgets allow all reads of d to leave, and takes them from the budgets. If they
// allow only some, it takes nothing.
func (r *Rules) Leave(d Departure) bool {
	if d.late > 0 && !r.Budget.Take(d.late) {
		return false
	}
	if d.early > 0 && !r.Hedge.Take(d.early) {
		r.Budget.Return(d.late)
		return false
	}
	r.Hedged.Add(uint64(d.early))
	return true
}

// answers reports whether the link was up and not silent at the last look.
func (l *Link) answers() bool { return l.Up() && l.silent == 0 }

// detour returns a link that is not silent although all nodes count as silent, or nil. A late reply or a
// lost packet holds up all replies behind it on one connection, while another connection to the same
// node works. Nodes that reads may leave come last.
func detour(nodes []*Node, avoid *Link) (well *Link) {
	for _, n := range nodes {
		if !n.Silent() {
			return nil
		}
		for _, l := range n.Links {
			if l != avoid && l.Up() && !l.quiet.Load() && (well == nil || !well.Node.keepsReads() && n.keepsReads()) {
				well = l
			}
		}
	}
	return well
}
