package redis

import (
	"context"
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/values"
)

// GroupOpts are the options of a [GroupReader]. Stream, Group and Consumer are required.
type GroupOpts struct {
	// Stream is the key of the stream, Group the name of the consumer group.
	Stream, Group string
	// Consumer is the name of this reader. Two readers of a group must not have the same
	// name at the same time. A reader that is restarted under the same name continues where
	// it stopped.
	Consumer string
	// Start is the ID after which reading begins, if this reader creates the group, for the first
	// time or after it was destroyed. Default "0": all entries of the stream. It must be an ID, not
	// "$": with "$", entries that are added before the group is created would be lost.
	Start string
	// Count is the greatest number of entries that one read returns. Default 100, at most 10,000.
	Count int
	// Block is how long one read waits for entries. Default 5 s.
	Block time.Duration
	// MinIdle is the time after which an unacknowledged entry goes to another reader. It must be
	// longer than the work on one entry; otherwise two readers work on the entry at the same time.
	// It must also be longer than a few round trips: a reader that takes that long to claim entries
	// does not deliver them, because another reader may already have them. Default 1 min, at least
	// 10 ms.
	MinIdle time.Duration
	// MaxDeliveries limits how often an entry is delivered; after that it goes to DeadLetter. An
	// entry may count as delivered although the loop never saw it: this happens to up to Count
	// entries if a reader dies or stalls for MinIdle, or if a reply with its earlier entries is
	// lost after a restart. Default 0: no limit.
	MaxDeliveries int
	// DeadLetter gets entries that were delivered MaxDeliveries times, to store them
	// elsewhere. If it returns nil, the reader acknowledges the entry. If it returns an error,
	// the loop gets the error, and DeadLetter gets the entry again after MinIdle. Required with
	// MaxDeliveries.
	DeadLetter func(context.Context, Message) error
}

var (
	// ErrGroup holds errors of a [GroupReader].
	ErrGroup = errs.ErrGroup
	// ErrGroupOpts: invalid options; nothing is sent.
	ErrGroupOpts = errs.ErrGroupOpts
	// ErrGroupBusy: another loop over the same reader is running.
	ErrGroupBusy = ErrGroup.NewType("busy", errs.ErrTraitNotSent)
	// ErrGroupEntryID: Ack was called with something that is not the ID of an entry.
	ErrGroupEntryID = errs.ErrGroupEntryID
	// ErrGroupEntryDeleted: the entry was deleted (XDEL, MAXLEN) before it was
	// acknowledged. The reader has acknowledged it, and delivers its ID with the error. Another
	// reader may still be working on it, because readers notice a deleted entry before MinIdle
	// has passed.
	ErrGroupEntryDeleted = ErrGroup.NewType("entry_deleted")
	// ErrGroupDestroyed: the group, or its stream, was deleted while the reader read it, and the
	// server has forgotten the acknowledgements and the delivery counts. If the loop continues, it
	// creates the group again, unless another reader has done so. Then all entries of the stream
	// after Start are delivered again, including acknowledged ones.
	ErrGroupDestroyed = ErrGroup.NewType("destroyed")
)

const (
	groupCount     = 100
	groupCountMost = 10_000 // servers allocate room for Count entries at once
	groupBlock     = 5 * time.Second
	groupMinIdle   = time.Minute
	// groupMinIdleLeast is ten round trips to a nearby server.
	groupMinIdleLeast = 10 * time.Millisecond
)

func (o GroupOpts) withDefaults() (GroupOpts, error) {
	switch {
	case o.Stream == "", o.Group == "", o.Consumer == "":
		return o, ErrGroupOpts.New("Stream, Group and Consumer must be set")
	case o.MaxDeliveries > 0 && o.DeadLetter == nil:
		return o, ErrGroupOpts.New("MaxDeliveries needs a DeadLetter, which gets entries that were delivered too often")
	}
	if o.Start == "" {
		o.Start = "0"
	}
	if !isEntryID(o.Start) {
		return o, ErrGroupOpts.New("Start is not an ID: for new entries only, give the ID of the last entry")
	}
	if o.Count <= 0 {
		o.Count = groupCount
	}
	o.Count = min(o.Count, groupCountMost)
	if o.Block <= 0 {
		o.Block = groupBlock
	}
	if o.MinIdle <= 0 {
		o.MinIdle = groupMinIdle
	}
	o.MinIdle = max(o.MinIdle, groupMinIdleLeast)
	return o, nil
}

// isEntryID reports whether id is an ID. Its second number may be missing.
func isEntryID(id string) bool {
	millis, number, numbered := strings.Cut(id, "-")
	_, err := strconv.ParseUint(millis, 10, 64)
	if err == nil && numbered {
		_, err = strconv.ParseUint(number, 10, 64)
	}
	return err == nil
}

// Message is an entry of a stream as a [GroupReader] delivers it.
type Message struct {
	// ID is the entry's ID.
	ID string
	// Fields are the entry's fields with their values, as a result: see [As].
	Fields any
	// Deliveries is how often the entry was delivered to a consumer of the group,
	// including this time.
	Deliveries int
}

// GroupReader reads a stream as a consumer of a group. It delivers each entry at least once, and
// never again after it was acknowledged, unless the group is destroyed: see [ErrGroupDestroyed]. It
// needs Redis 6.2.
//
//	for msg, err := range reader.Messages(ctx) {
//		if err != nil {
//			log.Print(err) // the reader continues
//			continue
//		}
//		work(msg)
//		reader.Ack(msg.ID)
//	}
//
// Ack and Flush are safe for concurrent use; only one loop may run at a time. A reader never
// deletes a consumer. After a consumer has stopped for MinIdle, other readers get its entries, but
// its name stays in the group.
type GroupReader struct {
	db   SyncCtx
	opts GroupOpts
	busy atomic.Bool
	// joined is set once the reader has seen the group. It belongs to the running loop.
	joined bool

	mu sync.Mutex // guards the fields below
	// acked are the IDs to acknowledge, and since is when the first of them was added.
	acked   []string
	waiting time.Time
	// open holds the IDs of delivered entries, with the time of delivery. An ID stays until the
	// entry is acknowledged or MinIdle has passed. After that another reader may have the entry.
	open map[string]time.Time
}

// NewGroupReader returns a reader. The reader sends nothing before its loop starts. Its reads
// block, on their own connection. If the Sender refuses blocking commands, the reader polls
// instead: once a second while there are no entries, and more often while entries come. In a
// cluster the Sender must read from masters.
func NewGroupReader(s Sender, opts GroupOpts) (*GroupReader, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, errs.Err(err)
	}
	return &GroupReader{db: SyncCtx{S: s}, opts: opts, open: map[string]time.Time{}}, nil
}

// check returns an error unless NewGroupReader has returned r.
func (r *GroupReader) check() error {
	if r == nil || r.open == nil {
		return errs.Err(ErrGroupOpts.New("the reader is nil or empty: NewGroupReader makes one"))
	}
	return nil
}

// Ack marks entries as done. The reader sends acknowledgements together: before each read, when
// the loop ends, and before it delivers an entry if there are Count of them or the first is
// 100 ms old. If the reader dies before that, the entries are delivered again. See Flush.
func (r *GroupReader) Ack(ids ...string) error {
	if err := r.check(); err != nil {
		return err
	}
	for _, id := range ids {
		if !isEntryID(id) {
			return errs.Err(ErrGroupEntryID.New("Ack was called with something that is not the ID of an entry"))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.acked) == 0 {
		r.waiting = time.Now()
	}
	r.acked = append(r.acked, ids...)
	return nil
}

// flushAfter is how long an acknowledgement waits for others. It bounds the work that is
// repeated after a crash, and costs at most ten requests a second.
const flushAfter = 100 * time.Millisecond

func (r *GroupReader) mayFlush() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.acked) >= r.opts.Count || len(r.acked) > 0 && time.Since(r.waiting) >= flushAfter
}

// flushAtOnce bounds the IDs of one request.
const flushAtOnce = 1000

// Flush acknowledges at once all entries for which Ack was called. After an error it keeps
// the entries that may not be acknowledged, and the next flush sends them; a retry is always
// safe.
func (r *GroupReader) Flush(ctx context.Context) error {
	if err := r.check(); err != nil {
		return err
	}
	r.mu.Lock()
	ids := r.acked
	r.acked = nil
	r.mu.Unlock()
	for len(ids) > 0 {
		some := ids[:min(len(ids), flushAtOnce)]
		if err := errs.Err(r.db.Do(ctx, "XACK", values.Args(r.opts.Stream, r.opts.Group, some)...)); err != nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.acked = append(ids, r.acked...)
			return err
		}
		ids = ids[len(some):]
		r.mu.Lock()
		for _, id := range some {
			delete(r.open, id)
		}
		r.mu.Unlock()
	}
	return nil
}

// track marks an entry as delivered.
func (r *GroupReader) track(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[id] = time.Now()
}

// settle forgets the entries that were delivered more than MinIdle ago.
func (r *GroupReader) settle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.open, func(_ string, at time.Time) bool { return time.Since(at) >= r.opts.MinIdle })
}

// leave forgets the delivered entries and the acknowledgements, because the group was
// destroyed. The loop gets an error.
func (r *GroupReader) leave() {
	r.joined = false
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acked = nil
	clear(r.open)
}

func (r *GroupReader) isOpen(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, open := r.open[id]
	return open
}
