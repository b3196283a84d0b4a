package redis

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/lifetime"
)

// Messages iterates over the entries for this reader: first those that it had read before a
// restart, then new ones, and from time to time those that other consumers have left (XAUTOCLAIM).
// It continues until ctx is done, the Sender is closed, or the caller leaves the loop. Then it
// acknowledges the entries for which Ack was called.
//
// An error comes with an empty Message, except that an error of DeadLetter comes with its entry,
// and an ErrGroupEntryDeleted with the ID. The caller may continue the loop after any error: if a
// reply with entries was lost, the reader reads them again, after a pause that grows to a second.
// An entry that was not acknowledged is delivered again after MinIdle, by this or by another
// reader, and at once in a new loop of this reader.
//
// While there is nothing to do, the reader sends at most two commands a second.
func (r *GroupReader) Messages(ctx context.Context) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		if err := r.check(); err != nil {
			yield(Message{}, err)
			return
		}
		switch {
		case ctx == nil:
			yield(Message{}, errs.Err(errs.NilContext()))
			return
		case !r.busy.CompareAndSwap(false, true):
			yield(Message{}, errs.Err(ErrGroupBusy.New("another loop already uses this reader")))
			return
		}
		defer r.busy.Store(false)
		r.mu.Lock()
		clear(r.open)
		r.mu.Unlock()
		l := &groupLoop{GroupReader: r, history: "0", cursor: groupBegin}
		left := true // also if the body of the caller's loop panics
		defer func() {
			if err := l.flushLast(ctx); err != nil && !left {
				yield(Message{}, errs.Err(err))
			}
		}()
		for ctx.Err() == nil {
			if !l.step(ctx, yield) {
				return
			}
		}
		left = false
	}
}

// groupBegin is the cursor at the start and at the end of an XAUTOCLAIM pass.
const groupBegin = "0-0"

// groupLoop is one loop over a GroupReader, in the goroutine of its user.
type groupLoop struct {
	*GroupReader
	// batch holds the items that were read and not delivered yet; fetched is the time of the
	// read. After MinIdle another reader may have these entries.
	batch   []groupItem
	fetched time.Time
	// history is the last of this consumer's earlier entries that was read again, or "" when all
	// were. The server has counted the delivery by this loop for entries up to counted: "" means
	// none, and "+" all.
	history, counted string
	// cursor is the position of the current XAUTOCLAIM pass. due is the time of the next pass.
	cursor string
	due    time.Time
	// polls is set if the Sender refuses reads that block. pause grows while reads fail, and while
	// a polling reader finds no entries.
	polls bool
	pause time.Duration
}

// groupItem is an item to deliver: an entry, or an error with the ID of its entry.
type groupItem struct {
	Message
	err error
}

// step reads a batch and delivers it. It returns false when the caller leaves the loop.
func (l *groupLoop) step(ctx context.Context, yield func(Message, error) bool) bool {
	err := l.fetch(ctx)
	for err == nil && len(l.batch) > 0 {
		if ctx.Err() != nil {
			return true
		}
		if err = l.renew(ctx); err != nil || len(l.batch) == 0 {
			break
		}
		item := l.batch[0]
		l.batch = l.batch[1:]
		if !l.deliver(ctx, item, yield) {
			return false
		}
		if l.mayFlush() {
			err = l.Flush(ctx)
		}
	}
	if errs.Says(err, noGroup) {
		err = l.rejoin(ctx)
	}
	if err == nil || ctx.Err() != nil {
		return true
	}
	failure := errs.AsErrorx(err)
	if failure.IsOfType(ErrUnblocked) { // the server ended the command before it did anything
		l.backOff(ctx)
		return true
	}
	l.forget()
	destroyed := failure.IsOfType(ErrGroupDestroyed)
	if destroyed {
		l.leave()
	}
	if !yield(Message{}, errs.Err(err)) || failure.IsOfType(errs.ErrContextClosed) {
		return false
	}
	if !destroyed {
		l.backOff(ctx)
	}
	return true
}

// deliver delivers one item. It returns false when the caller leaves the loop.
func (l *groupLoop) deliver(ctx context.Context, item groupItem, yield func(Message, error) bool) bool {
	switch {
	case item.err != nil:
		return yield(item.Message, errs.Err(item.err))
	case l.opts.MaxDeliveries > 0 && item.Deliveries > l.opts.MaxDeliveries:
		err := l.opts.DeadLetter(ctx, item.Message)
		if err == nil {
			err = l.Ack(item.ID)
		}
		return err == nil || yield(item.Message, errs.Err(err))
	}
	l.track(item.ID)
	return yield(item.Message, nil)
}

// forget drops the undelivered entries, which the loop will read again. It keeps the reports of
// deleted entries, because the server does not repeat them.
func (l *groupLoop) forget() {
	l.batch = slices.DeleteFunc(l.batch, func(item groupItem) bool { return item.err == nil })
	l.history = "0"
}

// fetch reads the next items into the batch.
func (l *groupLoop) fetch(ctx context.Context) error {
	if err := l.Flush(ctx); err != nil {
		return err
	}
	var err error
	switch {
	case l.history != "" && (l.counted == "" || l.counted == l.history):
		err = l.readHistory(ctx)
	case l.history != "":
		err = l.readAgain(ctx)
	case !time.Now().Before(l.due):
		err = l.claim(ctx)
	default:
		err = l.readNew(ctx)
	}
	if err == nil && len(l.batch) > 0 {
		l.pause = 0
	}
	return err
}

// lastFlushMost bounds the last flush, whose context has usually ended.
const lastFlushMost = time.Second

// flushLast runs when the loop ends. It acknowledges the entries for which Ack was called, and
// undoes the count of undelivered entries. If that fails, they count as delivered.
func (l *groupLoop) flushLast(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlushMost)
	defer cancel()
	err := l.Flush(ctx)
	if err == nil {
		_ = l.giveBack(ctx)
	}
	return err
}

// A reader pauses when it polls, and when its reads fail. Pauses are short at first, and grow to a
// second for an idle server.
const (
	groupPauseLeast = 5 * time.Millisecond
	groupPauseMost  = time.Second
)

// backOff waits. Each wait is longer than the last, until a read succeeds.
func (l *groupLoop) backOff(ctx context.Context) {
	l.pause = min(max(2*l.pause, groupPauseLeast), groupPauseMost)
	_, _ = lifetime.Pause(ctx, l.pause, nil)
}

// readNew reads entries that no consumer has read yet.
func (l *groupLoop) readNew(ctx context.Context) error {
	var block []any
	if !l.polls {
		ms := max(1, min(l.opts.Block, time.Until(l.due)).Milliseconds())
		block = []any{"BLOCK", ms}
	}
	entries, err := l.read(ctx, ">", block...)
	if failure := errs.AsErrorx(err); failure != nil && failure.IsOfType(errs.ErrCommandForbidden) && !l.polls {
		l.polls = true
		return nil
	}
	if err != nil {
		return err
	}
	l.fetched = time.Now()
	for _, e := range entries {
		l.batch = append(l.batch, groupItem{Message: Message{ID: e.ID, Fields: e.Value, Deliveries: 1}})
	}
	switch {
	case !l.polls:
		l.pause = 0
	case len(entries) == 0:
		l.backOff(ctx)
	}
	return nil
}

// read sends XREADGROUP.
func (l *groupLoop) read(ctx context.Context, after string, block ...any) ([]Entry[any], error) {
	args := []any{"GROUP", l.opts.Group, l.opts.Consumer, "COUNT", l.opts.Count}
	args = append(append(args, block...), "STREAMS", l.opts.Stream, after)
	var streams map[string][]Entry[any]
	if !l.joined {
		ctx = context.WithValue(ctx, groupExpected{}, true)
	}
	err := l.db.DoInto(ctx, &streams, "XREADGROUP", args...)
	l.joined = l.joined || err == nil
	return streams[l.opts.Stream], err
}

// rejoin creates a group that does not exist. It waits before it reads again, because the group may
// be deleted each time. If the group existed before, rejoin only returns an error. Then the next
// read creates the group, if the loop continues.
func (l *groupLoop) rejoin(ctx context.Context) error {
	if l.joined {
		return ErrGroupDestroyed.New("the group or its stream was deleted: the group starts at Start again")
	}
	res := l.db.Do(ctx, "XGROUP CREATE", l.opts.Stream, l.opts.Group, l.opts.Start, "MKSTREAM")
	if err := errs.Of(res); err != nil && !errs.Says(res, "BUSYGROUP") { // BUSYGROUP: another reader has just created the group
		return err
	}
	l.backOff(ctx)
	return nil
}
