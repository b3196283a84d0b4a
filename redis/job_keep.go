package redis

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/values"
)

// A reader with Ack moves jobs to its own list, which has a unique name. The name is in the set of
// the queue's readers, and a key (the lease) expires unless the reader checks in. When a lease has
// expired, another reader writes jobTakenOver to it and moves the jobs back to the queue. The first
// reader notices that before it delivers another job, and stops using the list.
//
// A failover may undo that the name was added. So the reader adds it again after each pop. Otherwise
// nobody would take over the job if the reader died before it checks in.

const (
	jobHeld      = "held"
	jobTakenOver = "taken over"
	// jobStray is how long a dead reader's pop may still reach the server. After a process has
	// ended, Linux retransmits its data for less than two minutes.
	jobStray = 5 * time.Minute
)

// lease is how long a reader counts as alive after it has checked in. It checks in before it
// delivers a job, if the last time was more than half of MinIdle ago. So at least MinIdle is left
// for the work.
func (r *JobReader) lease() time.Duration { return r.opts.MinIdle + r.opts.MinIdle/2 }

// keep acknowledges jobs. It also checks in when that is due, or when the reader does not know what
// is in its list.
func (l *jobLoop) keep(ctx context.Context) error {
	if err := l.Flush(ctx); err != nil {
		return err
	}
	if !l.inDoubt() && time.Since(l.checked) < l.opts.MinIdle/4 {
		return nil
	}
	readers, err := l.checkIn(ctx)
	if err != nil {
		return err
	}
	return l.takeOver(ctx, readers)
}

// stayKnown adds the reader's name again, and does not wait for the answer.
func (l *jobLoop) stayKnown() {
	if l.opts.Ack {
		l.db.S.Send(Req("ZADD", l.readers(), 0, l.name), nil, 0)
	}
}

func (l *jobLoop) inDoubt() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.doubt || l.unsure
}

// checkIn renews the lease, compares the reader's list with held, and returns the readers of the
// queue. It may be repeated.
func (l *jobLoop) checkIn(ctx context.Context) (readers []Scored[string], err error) {
	if err := l.takeTurn(ctx); err != nil {
		return nil, err
	}
	defer l.endTurn()
	began := time.Now()
	lease := l.lease().Milliseconds()
	results, err := l.db.Transact(ctx, []Request{
		Req("ZADD", l.readers(), 0, l.name),
		Req("SET", l.alive(l.name), jobHeld, "NX", "PX", lease),
		Req("GET", l.alive(l.name)),
		Req("PEXPIRE", l.alive(l.name), lease),
		Req("LRANGE", l.list(l.name), 0, -1),
		Req("ZRANGE", l.readers(), 0, -1, "WITHSCORES"),
	})
	if err != nil {
		return nil, err
	}
	holder, err := values.As[string](results[2])
	if err != nil {
		return nil, err
	}
	if holder == jobTakenOver {
		return nil, l.abandon(ctx)
	}
	list, err := values.As[[][]byte](results[4])
	if err != nil {
		return nil, err
	}
	l.checked = began
	l.compare(list)
	l.redeliver()
	return values.As[[]Scored[string]](results[5])
}

// compare finds out what happened to pops and acknowledgements with an unknown outcome. If the list
// has a job that is not held, there are two possibilities. If such a pop has taken the job, compare
// delivers it. If the job's acknowledgement did not run, compare repeats the acknowledgement. If
// the reader can't tell which is true, it delivers the job.
func (l *jobLoop) compare(list [][]byte) {
	l.mu.Lock()
	held, unsure := map[string]int{}, map[string][]*delivery{}
	for d := range l.held {
		switch {
		case d.state != jobUnsure:
			held[string(d.payload)]++
		case l.doubt:
			delete(l.held, d)
		default:
			unsure[string(d.payload)] = append(unsure[string(d.payload)], d)
		}
	}
	var more [][]byte
	for _, payload := range list {
		job := string(payload)
		switch again := unsure[job]; {
		case held[job] > 0:
			held[job]--
		case len(again) > 0:
			again[0].state = jobAcked
			l.acked = append(l.acked, again[0])
			unsure[job] = again[1:]
		default:
			more = append(more, payload)
		}
	}
	for _, ran := range unsure {
		for _, d := range ran {
			delete(l.held, d)
		}
	}
	l.doubt, l.unsure = false, false
	l.mu.Unlock()
	for _, payload := range more {
		l.add(payload)
	}
}

// redeliver adds to the batch the jobs that were delivered MinIdle ago and not acknowledged.
func (l *jobLoop) redeliver() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for d := range l.held {
		if d.state == jobOpen && time.Since(d.at) >= l.opts.MinIdle {
			d.state = jobWaits
			l.batch = append(l.batch, d)
		}
	}
}

// abandon gives up the reader's list, which other readers have taken over, and begins another one.
func (l *jobLoop) abandon(ctx context.Context) error {
	_, err := l.giveBack(ctx, l.name) // gives back jobs that came late; if that fails, other readers take them over
	if l.beginList() {
		return ErrJobTaken.New("other readers have taken over the jobs of this one, because it did not check in for longer than MinIdle")
	}
	return err
}

// beginList begins another list, under another name. held reports whether the reader held jobs. The
// caller must hold turn.
func (l *jobLoop) beginList() (held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	held = len(l.held) > 0
	clear(l.held)
	l.acked, l.unsure = nil, false
	l.name, l.batch, l.doubt, l.stray, l.checked = rand.Text(), nil, false, false, time.Time{}
	l.most = 0
	return held
}

// giveBack moves the jobs of a list back to the front of the queue, in their order. moved is the
// number of jobs that it has moved.
func (r *JobReader) giveBack(ctx context.Context, name string) (moved int, err error) {
	for {
		res := r.db.Send(ctx, r.giveBackOne(name))
		if err := errs.Of(res); err != nil || res == nil {
			return moved, err
		}
		moved++
	}
}

// giveBackOne returns the request that moves back the job that was taken last.
func (r *JobReader) giveBackOne(name string) Request {
	return Req("LMOVE", r.list(name), r.opts.Queue, "RIGHT", r.end())
}

// takeOver moves the jobs of readers whose leases have expired back to the queue.
func (l *jobLoop) takeOver(ctx context.Context, readers []Scored[string]) error {
	var leases []any
	for _, reader := range readers {
		leases = append(leases, l.alive(reader.Member))
	}
	if len(leases) <= 1 { // the only lease is that of this reader
		return nil
	}
	alive, err := values.As[[]any](l.db.Do(ctx, "MGET", leases...))
	if err != nil {
		return err
	}
	for i, reader := range readers {
		if i < len(alive) && alive[i] == nil && reader.Member != l.name {
			if err := l.takeOverFrom(ctx, reader.Member, int(reader.Score)); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeOverFrom moves the jobs of a dead reader. Its last pop may run late, or a failover may undo
// that jobs were moved. So takeOverFrom looks at the list again, after pauses that double, before
// it removes the reader's name. looks is how often takeOverFrom has found the list empty.
func (l *jobLoop) takeOverFrom(ctx context.Context, name string, looks int) error {
	rest := lifetime.DoubledPause(l.lease(), max(l.lease(), jobStray), looks)
	res := l.db.Do(ctx, "SET", l.alive(name), jobTakenOver, "NX", "PX", rest.Milliseconds())
	if err := errs.Of(res); err != nil || res == nil { // nil: the reader lives, or another reader has been faster
		return err
	}
	moved, err := l.giveBack(ctx, name)
	switch {
	case err != nil:
		return err
	case moved > 0:
		looks = 0
	case looks > 0 && rest >= jobStray:
		return errs.Of(l.db.Do(ctx, "ZREM", l.readers(), name))
	default:
		looks++
	}
	return errs.Of(l.db.Do(ctx, "ZADD", l.readers(), "XX", looks, name))
}

// leave acknowledges jobs when the loop ends. If all delivered jobs are acknowledged, it also gives
// back the jobs that were not delivered.
func (l *jobLoop) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlushMost)
	defer cancel()
	err := l.Flush(ctx)
	if err == nil && l.inDoubt() {
		if _, err = l.checkIn(ctx); err == nil {
			err = l.Flush(ctx)
		}
	}
	if err == nil && !l.checked.IsZero() {
		_ = l.release(ctx) // if that fails, other readers do it later
	}
	return err
}

// release gives back the jobs that were not delivered, and gives up the lease.
func (l *jobLoop) release(ctx context.Context) error {
	if err := l.takeTurn(ctx); err != nil {
		return err
	}
	defer l.endTurn()
	if l.hasOpen() {
		return nil
	}
	name, most := l.name, l.most
	if l.stray || most > jobReleased {
		_, err := l.giveBack(ctx, name)
		l.beginList()
		return err
	}
	l.beginList()
	// A failover may undo earlier acknowledgements and returns, so the list may have more jobs than
	// the reader knows, but never more than most.
	reqs := slices.Repeat([]Request{l.giveBackOne(name)}, most)
	_, err := l.db.Transact(ctx, append(reqs, Req("ZREM", l.readers(), name), Req("DEL", l.alive(name))))
	return err
}

// jobReleased bounds how many jobs are given back in one transaction. If there may be more, the
// reader leaves them to others, and its lease expires.
const jobReleased = 16

// hasOpen reports whether a job was delivered and is not acknowledged.
func (l *jobLoop) hasOpen() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for d := range l.held {
		if d.state != jobWaits || !d.at.IsZero() {
			return true
		}
	}
	return false
}
