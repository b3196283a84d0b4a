package redismirror

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/redis"
)

// repeats holds the operations that are repeated on the database that does not decide.
type repeats struct {
	queue    chan *mirrored // has room for Opts.MaxPending operations
	suspects chan *mirrored // reads whose replies were different
	pending  atomic.Int64   // the number of operations in the queue or in flight
	bytes    atomic.Int64   // the total size of these operations
}

const (
	// suspectsMost bounds the reads that are to be compared again.
	suspectsMost = 256
	// checks is how often in a row the replies to a read must be different to count as a finding, and
	// checkAfter the time in between. A single difference shows little: another process may write the key
	// between the two reads, and its write may reach the other database later.
	checks     = 3
	checkAfter = 50 * time.Millisecond
	// checkWithin is how long a comparison may take.
	checkWithin = 2 * time.Second
)

// add adds an operation to the queue. If there is no room, the operation is not repeated.
func (m *Mirror) add(o *mirrored) {
	r := &m.repeats
	pending, bytes := r.pending.Add(1), r.bytes.Add(int64(o.bytes))
	if pending > int64(m.opts.MaxPending) || pending > 1 && bytes > maxPendingBytes {
		m.counts.dropped.Add(1)
		if o.writes {
			m.findings.add(o, Dropped, nil)
		}
		m.done(o)
		return
	}
	r.queue <- o
}

// done ends the repetition of an operation.
func (m *Mirror) done(o *mirrored) {
	m.repeats.pending.Add(-1)
	m.repeats.bytes.Add(-int64(o.bytes))
	m.gates.leave(o)
}

// repeat is the goroutine that sends the operations in the queue, in order. New starts it; it ends with Close.
// If a sender blocks, only repeat waits.
func (m *Mirror) repeat() {
	for {
		select {
		case <-m.ctx.Done():
			return
		case o := <-m.repeats.queue:
			m.sendTo(1-o.side, o, &repetition{m: m, of: o})
		}
	}
}

// repetition is the future of an operation on the database that does not decide.
type repetition struct {
	m        *Mirror
	of       *mirrored
	resolved atomic.Bool
}

// Cancelled implements redis.Future.
func (*repetition) Cancelled() error { return nil }

// Resolve implements redis.Future.
func (r *repetition) Resolve(res any, _ uint64) {
	if r.resolved.Swap(true) {
		return
	}
	m, o := r.m, r.of
	defer m.done(o)
	outcome := redis.OutcomeOf(res)
	same := outcome == redis.OutcomeValue && digestOf(o.name, res) == o.digest
	switch {
	case !o.writes && outcome >= redis.OutcomeNotSent:
		m.counts.failed.Add(1)
	case !o.writes:
		m.compared(o, same)
	case outcome != redis.OutcomeValue:
		m.counts.failed.Add(1)
		m.findings.add(o, Failed, redis.Err(res))
	default:
		if m.counts.writes.Add(1); !same {
			m.findings.add(o, Different, nil)
		}
	}
}

// compared counts a comparison. A read whose replies were different is compared again.
func (m *Mirror) compared(o *mirrored, same bool) {
	if same {
		m.counts.reads.Add(1)
		return
	}
	select {
	case m.repeats.suspects <- o:
	default:
		m.counts.dropped.Add(1)
	}
}

// checkAgain is the goroutine that repeats reads whose replies were different. New starts it; it ends with
// Close.
func (m *Mirror) checkAgain() {
	for {
		var suspects []*mirrored
		select {
		case <-m.ctx.Done():
			return
		case o := <-m.repeats.suspects:
			suspects = append(suspects, o)
		}
		for range checks {
			if _, err := lifetime.Pause(m.ctx, checkAfter, nil); err != nil {
				return
			}
			for len(m.repeats.suspects) > 0 {
				suspects = append(suspects, <-m.repeats.suspects)
			}
			var left []*mirrored
			for _, o := range suspects {
				if m.check(o) {
					left = append(left, o)
				}
			}
			suspects = left
		}
		for _, o := range suspects {
			m.counts.reads.Add(1)
			m.findings.add(o, Different, nil)
		}
	}
}

// check sends a read to both databases once more, and reports whether the replies are different. It gives up
// if one of the keys is written at the same time.
func (m *Mirror) check(o *mirrored) (different bool) {
	ctx, cancel := context.WithTimeout(m.ctx, checkWithin)
	defer cancel()
	version, quiet := m.gates.version(o.slots)
	var digests [2]digest
	for i, s := range m.sides {
		res := redis.SyncCtx{S: s}.Do(ctx, o.reqs[0].Cmd, o.reqs[0].Args()...)
		if redis.OutcomeOf(res) >= redis.OutcomeNotSent {
			m.counts.failed.Add(1)
			return false
		}
		digests[i] = digestOf(o.name, res)
	}
	now, still := m.gates.version(o.slots)
	switch {
	case digests[0] == digests[1]:
		m.counts.reads.Add(1)
		return false
	case !quiet || !still || now != version:
		m.counts.raced.Add(1)
		return false
	}
	return true
}
