package calm

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/lab/bench/hist"
	"github.com/joomcode/redispipe/redis"
)

// phase is a part of a run.
type phase int32

const (
	warming phase = iota
	before        // the fault
	during
	after // one second after the servers are back
	phases
)

// callers call a client without pause until they are stopped. Each has a list, a counter and a value of its own in
// one slot.
type callers struct {
	c        client
	name     string
	deadline time.Duration
	phase    atomic.Int32
	stop     atomic.Bool
	between  sync.RWMutex // a caller holds it for reading during a call
	all      []*caller
	running  sync.WaitGroup
}

// caller is one of callers, and all that it knows of its calls. Its fields belong to its goroutine until that ends, but
// for commands.
type caller struct {
	*callers
	list, counter, value string

	calls, failed, failedReads, unsaid int // unsaid: writes of redispipe that failed, and not as unknown
	took                               [phases]hist.Hist
	pushed, maybe                      map[string]bool // ids by how the push ended
	last                               int64           // the last result of the counter
	open                               int64           // increments that have failed since then
	twice                              int64           // increments that ran more than once
	lost                               int64           // acknowledged increments that the server no longer has
	commands                           [kinds]atomic.Int64
}

// kinds of commands whose acknowledgements are counted.
const (
	gets = iota
	sets
	incrs
	pushes
	kinds
)

var names = [kinds]string{"get", "set", "incr", "rpush"}

func start(c client, name string, count int, deadline time.Duration) *callers {
	w := &callers{c: c, name: name, deadline: deadline}
	for i := range count {
		tag := fmt.Sprintf("{%s:%d}", name, i)
		one := &caller{
			callers: w, list: tag + "l", counter: tag + "n", value: tag + "v",
			pushed: map[string]bool{}, maybe: map[string]bool{},
		}
		w.all = append(w.all, one)
		w.running.Go(func() {
			for n := i; !w.stop.Load(); n++ {
				at := phase(w.phase.Load())
				w.between.RLock()
				begin := time.Now()
				one.call(n)
				one.took[at].Record(time.Since(begin))
				w.between.RUnlock()
			}
		})
	}
	return w
}

// acknowledged returns how many commands of a kind were acknowledged.
func (w *callers) acknowledged(kind int) (sum int64) {
	for _, c := range w.all {
		sum += c.commands[kind].Load()
	}
	return sum
}

// call makes one call, of the n-th kind.
func (c *caller) call(n int) {
	ctx, cancel := context.WithTimeout(context.Background(), c.deadline)
	defer cancel()
	c.calls++
	id := strconv.Itoa(n)
	both := [][]string{{"RPUSH", c.list, id}, {"INCR", c.counter}}
	ok := true
	switch n % 6 {
	case 0:
		_, failed := c.c.do(ctx, "GET", c.value).(error)
		if ok = !failed; failed {
			c.failedReads++
		} else {
			c.commands[gets].Add(1)
		}
	case 1:
		if ok = c.written(c.c.do(ctx, "SET", c.value, id)); ok {
			c.commands[sets].Add(1)
		}
	case 2:
		ok = c.incremented(c.c.do(ctx, "INCR", c.counter))
	case 3:
		res, err := c.c.transact(ctx, both)
		if err != nil {
			res = []any{err, err}
		}
		ok = c.both(id, res[0], res[1])
	case 4:
		res := c.c.batch(ctx, both)
		ok = c.both(id, res[0], res[1])
	case 5:
		res := c.c.run(ctx, c.list, c.counter, id)
		ok = c.both(id, res, res)
	}
	if !ok {
		c.failed++
	}
}

func (c *caller) both(id string, push, incr any) bool {
	pushed, counted := c.written(push), c.incremented(incr)
	if pushed {
		c.pushed[id] = true
		c.commands[pushes].Add(1)
	} else {
		c.maybe[id] = true
	}
	return pushed && counted
}

// written reports whether a write was acknowledged.
func (c *caller) written(res any) bool {
	err, failed := res.(error)
	if _, ours := c.c.(pipe); failed && ours && redis.OutcomeOf(err) != redis.OutcomeUnknown {
		c.unsaid++
	}
	return !failed
}

// incremented is written for the counter, whose results show which increments ran.
func (c *caller) incremented(res any) bool {
	if !c.written(res) {
		c.open++
		return false
	}
	n, _ := res.(int64)
	c.count(n, c.last+1)
	c.last, c.open = n, 0
	c.commands[incrs].Add(1)
	return true
}

// count compares the counter with the least value that it has if no failed increment ran.
func (c *caller) count(n, least int64) {
	c.twice += max(0, n-least-c.open)
	c.lost += max(0, least-n)
}

// judge compares what the caller knows with what the servers have.
func (c *caller) judge(ctx context.Context, db redis.SyncCtx) error {
	ids, err := redis.DoAs[[]string](ctx, db.S, "LRANGE", c.list, 0, -1)
	if err != nil {
		return err
	}
	n, err := redis.DoAs[*int64](ctx, db.S, "GET", c.counter)
	if err != nil {
		return err
	}
	if n == nil {
		n = new(int64)
	}
	c.count(*n, c.last)
	there := map[string]bool{}
	for _, id := range ids {
		switch {
		case there[id]:
			c.twice++
		case !c.pushed[id] && !c.maybe[id]:
			return fmt.Errorf("calm: nobody has pushed %s to %s", id, c.list)
		}
		there[id] = true
	}
	for id := range c.pushed {
		if !there[id] {
			c.lost++
		}
	}
	return nil
}
