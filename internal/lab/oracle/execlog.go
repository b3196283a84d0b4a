package oracle

import (
	"fmt"
	"sort"
	"sync"

	"github.com/joomcode/redispipe/redis"
)

// ExecLog shows what the server ran: each goroutine pushes the tags of its requests to its own
// list, in the order of sending. It is safe for concurrent use if each key has one user.
type ExecLog struct {
	// Lossy is set if the server may lose writes that it executed, for example in a failover that is
	// not graceful. Then acknowledged writes may be missing.
	Lossy bool

	ledger *Ledger
	mu     sync.Mutex // guards writes
	writes map[string][]uint64
}

// NewExecLog makes an ExecLog whose requests are in l.
func NewExecLog(l *Ledger) *ExecLog {
	return &ExecLog{ledger: l, writes: map[string][]uint64{}}
}

// Issue opens a slot for a write to the list at key, and returns the request.
func (e *ExecLog) Issue(key string) (redis.Request, uint64) {
	id := e.ledger.IssueTagged(func(string) Check { return IsCount })
	e.mu.Lock()
	e.writes[key] = append(e.writes[key], id)
	e.mu.Unlock()
	return redis.Req("RPUSH", key, e.ledger.Tag(id)), id
}

// Keys returns the lists that were written to.
func (e *ExecLog) Keys() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	keys := make([]string, 0, len(e.writes))
	for key := range e.writes {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// Verify compares the lists with the ledger once all requests are resolved. read returns a list
// from the server, without the client under test.
func (e *ExecLog) Verify(read func(key string) ([]string, error)) error {
	for _, key := range e.Keys() {
		executed, err := read(key)
		if err != nil {
			return fmt.Errorf("oracle: list %s: %w", key, err)
		}
		e.verify(key, executed)
	}
	return nil
}

func (e *ExecLog) verify(key string, executed []string) {
	e.mu.Lock()
	issued := e.writes[key]
	e.mu.Unlock()
	l, places := e.ledger, map[string]int{}
	for i, tag := range executed {
		if first, dup := places[tag]; dup {
			l.Report.Violate(Duplicated, "%s: %s ran as number %d and %d", key, tag, first+1, i+1)
			continue
		}
		places[tag] = i
	}
	last := -1 // the place of the latest acknowledged write
	for _, id := range issued {
		tag := l.Tag(id)
		place, ran := places[tag]
		delete(places, tag)
		switch outcome := l.Outcome(id); {
		case outcome == NotSent && ran:
			l.Report.Violate(FalseNotSent, "%s: %s ran", key, tag)
		case outcome == ServerError && ran:
			l.Report.Violate(Mixed, "%s: %s ran, and got an error of the server", key, tag)
		case outcome == Value && !ran && e.Lossy:
		case outcome == Value && !ran:
			l.Report.Violate(Missing, "%s: %s", key, tag)
		case outcome == Value:
			if place < last {
				l.Report.Violate(Disordered, "%s: %s ran before one that was sent earlier", key, tag)
			}
			if n := l.Reply(id); n != int64(place+1) && !e.Lossy {
				l.Report.Violate(Mixed, "%s: %s ran as number %d and was told %d", key, tag, place+1, n)
			}
			last = max(last, place)
		}
	}
	for tag := range places {
		l.Report.Violate(Mixed, "%s: holds %s, which was not sent to it", key, tag)
	}
}

// Counter is a key that many goroutines increment.
type Counter struct {
	// Lossy is as in ExecLog.
	Lossy bool

	ledger *Ledger
	key    string
	mu     sync.Mutex // guards ids
	ids    []uint64
}

// NewCounter makes a Counter on key, which must not exist.
func NewCounter(l *Ledger, key string) *Counter { return &Counter{ledger: l, key: key} }

// Issue opens a slot for an increment, and returns its request.
func (c *Counter) Issue() (redis.Request, uint64) {
	id := c.ledger.Issue(IsCount)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids = append(c.ids, id)
	return redis.Req("INCR", c.key), id
}

// Verify compares the counter's value with the ledger once all requests are resolved: acknowledged
// ≤ value ≤ acknowledged + unknown, and no two increments got the same number.
func (c *Counter) Verify(value int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, acked, unknown := c.ledger, int64(0), int64(0)
	told := map[int64]uint64{}
	for _, id := range c.ids {
		switch l.Outcome(id) {
		case Unknown, Issued:
			unknown++
		case Value:
			acked++
			if other, dup := told[l.Reply(id)]; dup && !c.Lossy {
				l.Report.Violate(Mixed, "%s and %s were both told %d", l.Tag(other), l.Tag(id), l.Reply(id))
			}
			told[l.Reply(id)] = id
		}
	}
	if value < acked && !c.Lossy {
		l.Report.Violate(Missing, "%s is %d after %d acknowledged increments", c.key, value, acked)
	}
	if value > acked+unknown {
		l.Report.Violate(Duplicated, "%s is %d after %d acknowledged and %d unknown increments", c.key, value, acked, unknown)
	}
}
