package redis

import (
	"context"
	"slices"
	"time"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/values"
)

// The server counts an entry as delivered when it is read. For entries that were read before this
// loop started, that count remains, because the process that read them may have died while working
// on them. Entries that this loop has read and not delivered must not count: the loop reads them
// again without counting, and undoes the count when it ends.

// readHistory reads the unacknowledged entries that this consumer had read before the
// loop started. The server counts that as a delivery.
func (l *groupLoop) readHistory(ctx context.Context) error {
	l.fetched = time.Now()
	entries, err := l.read(ctx, l.history)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		l.history, l.counted = "", "+"
		return nil
	}
	l.history = entries[len(entries)-1].ID
	l.counted = l.history
	return l.redeliver(ctx, slices.DeleteFunc(entries, func(e Entry[any]) bool { return l.isOpen(e.ID) }))
}

// readAgain reads entries again after a failure: those up to counted that this loop has read and
// not delivered. If another consumer may already have an entry, readAgain leaves it to claim.
func (l *groupLoop) readAgain(ctx context.Context) error {
	from := "-"
	if l.history != "0" {
		from = "(" + l.history
	}
	asked := time.Now()
	list, err := values.As[[]pendingEntry](l.db.Do(ctx, "XPENDING", l.opts.Stream, l.opts.Group, from, l.counted, l.opts.Count, l.opts.Consumer))
	if err != nil {
		return err
	}
	if len(list) == 0 {
		if l.history = l.counted; l.counted == "+" {
			l.history = ""
		}
		return nil
	}
	var again []Entry[any]
	var reqs []Request
	var oldest time.Duration
	for _, p := range list {
		l.history = p.id
		if idle := time.Duration(p.idle); idle < l.opts.MinIdle && !l.isOpen(p.id) {
			oldest = max(oldest, idle)
			again = append(again, Entry[any]{ID: p.id})
			reqs = append(reqs, Req("XRANGE", l.opts.Stream, p.id, p.id))
		}
	}
	results := l.db.SendMany(ctx, reqs)
	l.fetched = asked.Add(-oldest)
	for i := range again {
		entries, err := values.As[[]Entry[any]](results[i])
		if err != nil {
			return err
		}
		if len(entries) > 0 {
			again[i] = entries[0]
		}
	}
	return l.redeliver(ctx, again)
}

// giveBack undoes the delivery that the server has counted for each entry of the batch,
// if deliveries are limited.
func (l *groupLoop) giveBack(ctx context.Context) error {
	if l.opts.MaxDeliveries <= 0 || time.Since(l.fetched) >= l.opts.MinIdle {
		return nil
	}
	byCount := map[int][]any{}
	for _, item := range l.batch {
		if item.err == nil {
			byCount[item.Deliveries] = append(byCount[item.Deliveries], item.ID)
		}
	}
	for deliveries, ids := range byCount {
		args := append([]any{l.opts.Stream, l.opts.Group, l.opts.Consumer, 0}, ids...)
		args = append(args, "RETRYCOUNT", deliveries-1, "JUSTID")
		if err := errs.Of(l.db.Do(ctx, "XCLAIM", args...)); err != nil {
			return err
		}
	}
	return nil
}
