package oracle

import (
	"sync"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest/ledger"
)

// ExecLog is a ledger.Lists that also makes the requests.
type ExecLog struct{ *ledger.Lists }

// NewExecLog returns an ExecLog whose requests are recorded in l.
func NewExecLog(l *Ledger) *ExecLog { return &ExecLog{ledger.NewLists(l.Ledger)} }

// Issue opens a slot for a write to the list at key, and returns the request.
func (e *ExecLog) Issue(key string) (redis.Request, uint64) {
	tag, id := e.Lists.Issue(key)
	return redis.Req("RPUSH", key, tag), id
}

// Counter is a key that many goroutines increment.
type Counter struct {
	// Lossy is set if the server may lose executed writes: see ledger.Lists.
	Lossy bool

	ledger *Ledger
	key    string
	mu     sync.Mutex // guards ids
	ids    []uint64
}

// NewCounter returns a Counter for key, which must not exist.
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
