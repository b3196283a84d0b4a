package ledger

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// chunkSize is how many slots are made at a time.
const chunkSize = 4096

// keepValues is how many of the latest values are kept. A value is checked again when it is
// evicted, because a buffer that a client reuses too early shows only later.
const keepValues = 512

// Check judges a value. It returns an error if the value does not belong to the request.
type Check func(res any) error

// Ledger has a slot for each request. It is safe for concurrent use.
type Ledger struct {
	// Report collects the outcomes and the violations.
	Report *Report

	name   string
	next   atomic.Uint64
	open   atomic.Int64
	chunks atomic.Pointer[[]*chunk]
	grow   sync.Mutex // held to append a chunk

	mu   sync.Mutex // guards kept
	kept [keepValues]kept
	turn int
}

type chunk [chunkSize]slot

type slot struct {
	state  atomic.Uint32 // an Outcome
	check  Check
	tagged bool         // the arguments of the request contain its tag
	reply  atomic.Int64 // the reply, if it is an integer
}

type kept struct {
	id  uint64
	res any
}

// New returns a Ledger. Tags begin with name, which must be unique among the ledgers that write to
// one server.
func New(name string) *Ledger {
	l := &Ledger{name: name, Report: &Report{}}
	l.chunks.Store(&[]*chunk{})
	return l
}

// Issue opens a slot for a request. check judges the value of the reply; it may be nil.
func (l *Ledger) Issue(check Check) (id uint64) {
	id = l.next.Add(1) - 1
	for int(id/chunkSize) >= len(*l.chunks.Load()) {
		l.addChunk()
	}
	s := l.slot(id)
	s.check = check
	l.open.Add(1)
	s.state.Store(uint32(Issued))
	return id
}

func (l *Ledger) addChunk() {
	l.grow.Lock()
	defer l.grow.Unlock()
	old := *l.chunks.Load()
	chunks := append(append([]*chunk(nil), old...), new(chunk))
	l.chunks.Store(&chunks)
}

func (l *Ledger) slot(id uint64) *slot {
	chunks := *l.chunks.Load()
	if i := int(id / chunkSize); i < len(chunks) {
		return &chunks[i][id%chunkSize]
	}
	return nil
}

// Tag returns the tag of a request, which is unique on the server.
func (l *Ledger) Tag(id uint64) string { return fmt.Sprintf("%s:%d", l.name, id) }

// Outcome returns how a request ended, or Issued.
func (l *Ledger) Outcome(id uint64) Outcome {
	if s := l.slot(id); s != nil {
		return Outcome(s.state.Load())
	}
	return None
}

// Issued returns how many requests were issued. Their ids are smaller than that.
func (l *Ledger) Issued() uint64 { return l.next.Load() }

// Reply returns the integer in the reply to a request.
func (l *Ledger) Reply(id uint64) int64 { return l.slot(id).reply.Load() }

// End records how a request ended, with its reply if the outcome is Value, and otherwise with the
// error. A value must not be changed afterwards.
func (l *Ledger) End(id uint64, outcome Outcome, reply any) {
	s := l.slot(id)
	if s == nil || s.state.Load() == uint32(None) {
		l.Report.Violate(Mixed, "%s was never issued, but got %s", l.Tag(id), show(reply))
		return
	}
	if n, ok := reply.(int64); ok {
		s.reply.Store(n)
	}
	if !s.state.CompareAndSwap(uint32(Issued), uint32(outcome)) {
		l.Report.Violate(Double, "%s ended as %s, then as %s: %s", l.Tag(id), Outcome(s.state.Load()), outcome, show(reply))
		return
	}
	l.Report.outcome(outcome)
	if outcome == Value && s.check != nil {
		l.judge(kept{id, reply})
		l.keep(kept{id, reply})
	}
	l.open.Add(-1)
}

func (l *Ledger) judge(k kept) {
	if err := l.slot(k.id).check(k.res); err != nil {
		l.Report.Violate(Mixed, "%s: %v", l.Tag(k.id), err)
	}
}

// keep keeps a value, and checks the value that it evicts again.
func (l *Ledger) keep(k kept) {
	l.mu.Lock()
	evicted := l.kept[l.turn]
	l.kept[l.turn] = k
	l.turn = (l.turn + 1) % keepValues
	l.mu.Unlock()
	if evicted.res != nil {
		l.judge(evicted)
	}
}

// Open returns the number of unresolved requests.
func (l *Ledger) Open() int64 { return l.open.Load() }

// Wait waits until all requests are resolved or ctx ends.
func (l *Ledger) Wait(ctx context.Context) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for l.Open() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Finish waits for all requests, but not longer than within. It records the unresolved ones as
// lost, checks the kept values again, and returns the report.
func (l *Ledger) Finish(within time.Duration) *Report {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	l.Wait(ctx)
	for id := range l.Issued() {
		if l.Outcome(id) == Issued {
			l.Report.Violate(Lost, "%s", l.Tag(id))
		}
	}
	l.mu.Lock()
	values := l.kept
	l.kept = [keepValues]kept{}
	l.mu.Unlock()
	for _, k := range values {
		if k.res != nil {
			l.judge(k)
		}
	}
	return l.Report
}

// show formats a result, which it shortens.
func show(res any) string {
	s := fmt.Sprintf("%v", res)
	if b, ok := res.([]byte); ok {
		s = fmt.Sprintf("%q", b)
	}
	if len(s) > 200 {
		s = s[:200] + "…"
	}
	return s
}

// IssueTagged is Issue for a request whose arguments contain its tag. check returns the Check for
// the tag.
func (l *Ledger) IssueTagged(check func(tag string) Check) (id uint64) {
	id = l.Issue(nil)
	s := l.slot(id)
	s.check, s.tagged = check(l.Tag(id)), true
	return id
}

// Tagged reports whether the arguments of a request contain its tag.
func (l *Ledger) Tagged(id uint64) bool { return l.slot(id).tagged }

// Ignore removes the check of a request, for tests that damage its value.
func (l *Ledger) Ignore(id uint64) { l.slot(id).check = nil }
