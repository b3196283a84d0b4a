package route

import (
	"context"
	"sync/atomic"
	"time"
)

// stall lets the reads that wait for a link leave it, to be sent to another one. The Watch owns the fields that
// are not atomic.
type stall struct {
	// silent is for how long the link had been silent at the last look, or 0 if that was no longer than
	// usual. quiet is set if it is not 0.
	silent time.Duration
	quiet  atomic.Bool
	// next is for how long the link must have been silent until reads may leave again.
	next time.Duration
	// chance ends when reads may leave, and is replaced by the next one. early is set if it ended
	// because of Rules.Hedge. lets is set from then on until something arrives.
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
	// Once a link has been silent for stallMoves, the reads that wait for it may leave. That costs more
	// than sending later reads elsewhere, and must pay even if the node answers soon.
	stallMoves = 10 * time.Millisecond
	// Reads that the budget did not let leave try again when the silence has doubled, but at the latest
	// after moveAgain, as soon as the budget lets one leave.
	moveAgain = 50 * time.Millisecond
)

// is records how long the link has been silent.
func (s *stall) is(silent time.Duration) {
	s.silent = silent
	s.quiet.Store(silent > 0)
}

// letLeave tells the reads that wait for the link that they may leave, if it is time and the budget lets one
// leave.
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

// keep ends what letLeave began, when the link is no longer silent.
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
	for {
		if c := r.chance.Load(); c != nil {
			return c.Context
		}
		r.chance.CompareAndSwap(nil, newChance())
	}
}

// Stalled implements send.Staller.
func (l *Link) Stalled() context.Context { return l.chance.Load().Context }

// Leave implements send.Staller.
func (l *Link) Leave() bool { return l.LeaveWith(1) }

// LeaveWith is Leave for several reads, which leave together.
func (l *Link) LeaveWith(reads int) bool {
	rules := l.Node.rules
	if !l.early.Load() {
		return rules.Budget.Take(reads)
	}
	leaves := rules.Hedge.Take(reads)
	if leaves {
		rules.Hedged.Add(uint64(reads))
	}
	return leaves
}

// answers reports whether the link was up and not silent at the last look.
func (l *Link) answers() bool { return l.Up() && l.silent == 0 }

// detour returns a link that is not silent, if all nodes are. Another connection to a node may be well, because
// a late reply, or a lost packet, holds up all that is behind it.
func detour(nodes []*Node, avoid *Link) (well *Link) {
	for _, n := range nodes {
		if !n.Silent() {
			return nil
		}
		for _, l := range n.Links {
			if well == nil && l != avoid && l.Up() && !l.quiet.Load() {
				well = l
			}
		}
	}
	return well
}
