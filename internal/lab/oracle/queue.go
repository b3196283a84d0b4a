package oracle

import (
	"fmt"
	"sync"

	"github.com/joomcode/redispipe/redis"
)

// Queue is a set of lists. Goroutines push the tags of their requests to the right end, and others
// pop them from the left, by commands that may block. Each goroutine has one request at a time. It
// is safe for concurrent use.
type Queue struct {
	// Lossy is set if the server may lose executed writes. Then popped elements may also come back.
	Lossy bool

	ledger *Ledger
	mu     sync.Mutex // guards lists
	lists  map[string]*list
	tally  Tally
}

// Tally has the number of elements by what happened to them. Pushed = Delivered + Left + Missing,
// unless the servers lose executed writes.
type Tally struct {
	// Pushed counts the acknowledged pushes, and pushes with an unknown outcome whose elements were
	// seen.
	Pushed int
	// Delivered counts the elements that pops returned. Left counts those that are still in the
	// lists.
	Delivered, Left, Missing int
	// UnknownPops is the number of pops that may have popped a missing element.
	UnknownPops int
}

// Add adds another tally.
func (t *Tally) Add(other Tally) {
	t.Pushed += other.Pushed
	t.Delivered += other.Delivered
	t.Left += other.Left
	t.Missing += other.Missing
	t.UnknownPops += other.UnknownPops
}

// list has the requests to a list.
type list struct {
	pushes []turn
	pops   []*Pop
}

// turn is a request, with the goroutine that made it.
type turn struct {
	id uint64
	by int
}

// Pop is a request that pops one element.
type Pop struct {
	turn
	queue *Queue
	tag   string // the tag of the popped element, after the request is resolved
}

// NewQueue returns a Queue whose requests are recorded in l.
func NewQueue(l *Ledger) *Queue {
	return &Queue{ledger: l, lists: map[string]*list{}}
}

// Push opens a slot for a push of goroutine by, and returns the request.
func (q *Queue) Push(key string, by int) (redis.Request, uint64) {
	id := q.ledger.IssueTagged(func(string) Check { return IsCount })
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.listLocked(key)
	l.pushes = append(l.pushes, turn{id, by})
	return redis.Req("RPUSH", key, q.ledger.Tag(id)), id
}

// Pop opens a slot for a pop of the left element, such as BLPOP and LPOP, by goroutine by.
func (q *Queue) Pop(key string, by int) *Pop {
	p := &Pop{turn: turn{q.ledger.Issue(IsPoppedFrom(key)), by}, queue: q}
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.listLocked(key)
	l.pops = append(l.pops, p)
	return p
}

func (q *Queue) listLocked(key string) *list {
	l := q.lists[key]
	if l == nil {
		l = &list{}
		q.lists[key] = l
	}
	return l
}

// Resolve resolves the slot with a reply of BLPOP, which is nil if nothing was popped,
// or an error.
func (p *Pop) Resolve(res any) {
	if popped, ok := res.([]any); ok && len(popped) == 2 {
		tag, _ := popped[1].([]byte)
		p.tag = string(tag)
	}
	p.queue.ledger.Resolve(res, p.id)
}

// Verify compares pushed, popped and remaining elements once all requests are resolved. read
// returns a list from the server, without the client under test.
func (q *Queue) Verify(read func(key string) ([]string, error)) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tally = Tally{}
	for key, l := range q.lists {
		left, err := read(key)
		if err != nil {
			return fmt.Errorf("oracle: list %s: %w", key, err)
		}
		v := verification{Queue: q, key: key, pushed: map[string]turn{}, seen: map[string]bool{}, latest: map[int]uint64{}}
		v.run(l, left)
	}
	return nil
}

// Tally returns the result of the last Verify.
func (q *Queue) Tally() Tally {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.tally
}

// verification is the verification of one list.
type verification struct {
	*Queue
	key    string
	pushed map[string]turn // by tag
	seen   map[string]bool
	latest map[int]uint64 // for each goroutine, the latest push whose element was delivered
}

func (v *verification) run(l *list, left []string) {
	for _, push := range l.pushes {
		v.pushed[v.ledger.Tag(push.id)] = push
	}
	unknown := v.deliveries(l.pops)
	for _, tag := range left { // these were pushed after all delivered ones
		v.tally.Left++
		v.see(tag, "is left", v.latest)
	}
	missing := 0
	for tag, push := range v.pushed {
		acked := v.ledger.Outcome(push.id) == Value
		if acked || v.seen[tag] {
			v.tally.Pushed++
		}
		if acked && !v.seen[tag] {
			missing++
		}
	}
	v.tally.Missing += missing
	v.tally.UnknownPops += unknown
	if missing > unknown && !v.Lossy {
		v.ledger.Report.Violate(Missing, "%s: %d elements, and the outcome of %d pops is unknown", v.key, missing, unknown)
	}
}

// deliveries checks the popped elements, and counts the pops with an unknown outcome.
func (v *verification) deliveries(pops []*Pop) (unknown int) {
	last := map[int]map[int]uint64{} // by popper and pusher
	for _, p := range pops {
		switch outcome := v.ledger.Outcome(p.id); {
		case outcome == Unknown || outcome == Issued:
			unknown++
		case outcome == Value && p.tag != "":
			v.tally.Delivered++
			if last[p.by] == nil {
				last[p.by] = map[int]uint64{}
			}
			v.see(p.tag, fmt.Sprintf("was delivered to %s", v.ledger.Tag(p.id)), last[p.by])
		}
	}
	for _, of := range last {
		for by, id := range of {
			v.latest[by] = max(v.latest[by], id)
		}
	}
	return unknown
}

// see checks an element. last has, for each pusher, its latest push that was seen before, in the
// same order of elements.
func (v *verification) see(tag, how string, last map[int]uint64) {
	report := v.ledger.Report
	push, known := v.pushed[tag]
	if !known {
		report.Violate(Mixed, "%s: %s %s, which was not pushed to it", v.key, tag, how)
		return
	}
	if v.seen[tag] && !v.Lossy {
		report.Violate(Duplicated, "%s: %s %s, and was seen before", v.key, tag, how)
	}
	v.seen[tag] = true
	switch outcome := v.ledger.Outcome(push.id); {
	case outcome == NotSent:
		report.Violate(FalseNotSent, "%s: %s %s", v.key, tag, how)
	case outcome == ServerError:
		report.Violate(Mixed, "%s: %s %s, and its push got an error of the server", v.key, tag, how)
	case outcome != Value || v.Lossy: // the push may have run late, or on another server than the others
	case push.id < last[push.by]:
		report.Violate(Disordered, "%s: %s %s, after one that was pushed later", v.key, tag, how)
	default:
		last[push.by] = push.id
	}
}
