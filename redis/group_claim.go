package redis

import (
	"context"
	"reflect"
	"time"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/values"
)

// claimPause is the least time between two passes over the entries that other consumers have
// left. With reads that block for a second, an idle reader sends at most two commands a second.
const claimPause = 2 * time.Second

// claim takes over unacknowledged entries that were delivered to any consumer more than MinIdle
// ago. A pass ends with the cursor 0-0, and is followed by a pause.
func (l *groupLoop) claim(ctx context.Context) error {
	l.fetched = time.Now()
	res := l.db.Do(ctx, "XAUTOCLAIM", l.opts.Stream, l.opts.Group, l.opts.Consumer,
		l.opts.MinIdle.Milliseconds(), l.cursor, "COUNT", l.opts.Count)
	claimed, err := parseClaimed(res)
	if err != nil {
		return err
	}
	l.cursor = claimed.cursor
	if l.cursor == groupBegin {
		l.settle()
		l.due = time.Now().Add(max(l.opts.MinIdle/2, claimPause))
	}
	if claimed.unnamed {
		l.history = "0" // Redis 6.2 does not name deleted entries, but lists them in this consumer's history
	}
	for _, id := range claimed.deleted {
		l.batch = append(l.batch, deletedItem(id))
	}
	return l.redeliver(ctx, claimed.entries)
}

// claimed is the answer to XAUTOCLAIM.
type claimed struct {
	cursor  string
	entries []Entry[any]
	// deleted are the IDs of deleted entries, which the server has removed from the list of pending
	// entries. Only Redis 7.0 and later returns them.
	deleted []string
	// unnamed is set if an entry was deleted and is still on the list of pending entries, as with
	// Redis 6.2.
	unnamed bool
}

func parseClaimed(res any) (c claimed, err error) {
	if parts, ok := res.([]any); ok && len(parts) >= 2 {
		res = append(parts[:len(parts):len(parts)], nil)[:3] // the answer of Redis 6.2 has only two parts
	}
	var entries []*Entry[any]
	names := []string{"the cursor", "the entries", "what was deleted"}
	if err := values.ReadTuple(reflect.TypeOf(c), res, names, &c.cursor, &entries, &c.deleted); err != nil {
		return c, errs.Within(err, "XAUTOCLAIM")
	}
	for _, e := range entries {
		if e == nil {
			c.unnamed = true
			continue
		}
		c.entries = append(c.entries, *e)
	}
	return c, nil
}

// redeliver adds entries that were delivered before to the batch, and acknowledges
// deleted ones.
func (l *groupLoop) redeliver(ctx context.Context, entries []Entry[any]) error {
	if len(entries) == 0 {
		return nil
	}
	reqs := make([]Request, len(entries))
	for i, e := range entries {
		reqs[i] = l.pendingRequest(e.ID)
	}
	for i, res := range l.db.SendMany(ctx, reqs) {
		p, err := parsePending(res)
		if err != nil {
			return err
		}
		e := entries[i]
		switch {
		case p.owner != l.opts.Consumer: // acknowledged or claimed in the meantime
		case e.Value == nil:
			if err := l.Ack(e.ID); err != nil {
				return err
			}
			l.batch = append(l.batch, deletedItem(e.ID))
		default:
			l.batch = append(l.batch, groupItem{Message: Message{ID: e.ID, Fields: e.Value, Deliveries: p.deliveries}})
		}
	}
	return nil
}

// pendingRequest asks which consumer has an entry: see parsePending.
func (l *groupLoop) pendingRequest(id string) Request {
	return Req("XPENDING", l.opts.Stream, l.opts.Group, id, id, 1)
}

func deletedItem(id string) groupItem {
	return groupItem{Message{ID: id}, ErrGroupEntryDeleted.New("the entry was deleted before it was acknowledged")}
}

// pendingEntry is an entry that XPENDING lists.
type pendingEntry struct {
	id, owner  string
	idle       Milliseconds
	deliveries int
}

// UnmarshalRedis implements ResultUnmarshaler.
func (p *pendingEntry) UnmarshalRedis(res any) error {
	names := []string{"the ID", "the consumer", "the idle time", "the deliveries"}
	return values.ReadTuple(reflect.TypeOf(p).Elem(), res, names, &p.id, &p.owner, &p.idle, &p.deliveries)
}

// parsePending returns the requested entry. Its owner is empty if no consumer has the entry.
func parsePending(res any) (p pendingEntry, err error) {
	list, err := values.As[[]pendingEntry](res)
	if len(list) > 0 {
		p = list[0]
	}
	return p, err
}

// renew makes sure that the batch still belongs to this reader. It claims entries again that were
// fetched more than half of MinIdle ago, before another reader may claim them. It drops entries
// that another reader may already have. If no reader has taken them, it reads them again.
func (l *groupLoop) renew(ctx context.Context) error {
	age := time.Since(l.fetched)
	if age < l.opts.MinIdle/2 || l.batch[0].err != nil {
		return nil
	}
	if age >= l.opts.MinIdle {
		l.forget()
		return nil
	}
	began := time.Now()
	var reqs []Request
	args := []any{l.opts.Stream, l.opts.Group, l.opts.Consumer, 0}
	for _, item := range l.batch {
		if item.err == nil {
			reqs = append(reqs, l.pendingRequest(item.ID))
			args = append(args, item.ID)
		}
	}
	results, err := l.db.SendTransaction(ctx, append(reqs, Req("XCLAIM", append(args, "JUSTID")...)))
	if err != nil {
		return err
	}
	ids, err := values.As[[]string](results[len(reqs)])
	if err != nil {
		return err
	}
	if err = l.keep(ids, results); err != nil {
		return err
	}
	if time.Since(l.fetched) >= l.opts.MinIdle {
		l.forget()
	} else {
		l.fetched = began
	}
	return nil
}

// keep drops everything from the batch except errors and the claimed entries. It does not change
// their order. An entry that was pending and could not be claimed has been deleted. An entry that
// was not pending has been acknowledged or reported by another consumer.
func (l *groupLoop) keep(claimed []string, pending []any) error {
	batch := l.batch
	l.batch = nil
	for _, item := range batch {
		if item.err == nil {
			p, err := parsePending(pending[0])
			if err != nil {
				return err
			}
			pending = pending[1:]
			switch {
			case len(claimed) > 0 && claimed[0] == item.ID:
				claimed = claimed[1:]
			case p.owner == "":
				continue
			default:
				item = deletedItem(item.ID)
			}
		}
		l.batch = append(l.batch, item)
	}
	return nil
}
