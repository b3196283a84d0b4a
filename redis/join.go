package redis

import (
	"context"
	"slices"
	"time"

	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis/internal/join"
)

// WithJoin returns a Sender that sends through s. If a read is sent while the same read is under way, it
// joins that: one request is sent, and each caller gets a copy of the reply. So when many callers want the
// same at once, the server is asked a few times instead of thousands of times.
//
// A read joins no read that began before the latest write through this sender to one of its keys: neither
// before the write was sent, nor before it was answered. So callers see their own writes. A write that names no
// keys, such as a script without KEYS, counts as a write to all keys. But the sender does not know writes
// of other clients. A read that joins may be as old as the first of those that share it: it joins none that began
// 100 ms earlier or more. Callers that wait leave a node of a cluster that has stalled, as they do without it.
//
// It joins requests sent by themselves: of Sync, SyncCtx, ChanFutured and Send. Batches, transactions,
// sessions and the senders that EachShard passes send their reads, and their writes count. It does
// not join reads whose replies depend on chance (SRANDMEMBER), that run code, block, iterate, or read keys
// that they don't name (SORT_RO).
//
// A caller that leaves does not disturb the others: the shared request lasts as long as one waits. If it
// fails, all get its error. The retries and hooks of s stay around it, and see each caller's request.
func WithJoin(s Sender) Sender {
	table := join.NewTable()
	return inmost(known(s), func(s Sender) Sender { return withJoin(s, table, true) })
}

func withJoin(s Sender, table *join.Table, reads bool) Sender {
	own := &joined{layer{s, "redis.WithJoin"}, table, reads}
	to := open(s)
	if to.backend == nil {
		return own
	}
	return remembering(&joinedBackend{own, to.backend}, to.memory)
}

// joined is the Sender that WithJoin returns for a Sender of a user's.
type joined struct {
	layer
	table *join.Table
	reads bool // reads join; not those to a shard
}

// join returns the read that the request has joined. If first is set, the caller must send it. If the request is not
// shared, join returns nil.
func (j *joined) join(r *send.Request, cb Future, n uint64) (read *join.Read, first bool) {
	if !j.reads {
		return nil, false
	}
	read, first, _ = j.table.Join(r, cb, n)
	return read, first
}

// changing returns the future of requests that may change keys. They count when they are sent, and when
// they are answered.
func (j *joined) changing(cb Future, set send.Changes) Future {
	if set.Empty() {
		return cb
	}
	j.table.Changed(set)
	return &send.ChangingFuture{Forward: send.Forward{To: cb}, Changes: set, Changed: j.table.Changed}
}

// Send implements Sender.
func (j *joined) Send(req Request, cb Future, n uint64) {
	scratch := send.GetScratch()
	defer send.PutScratch(scratch)
	r := &scratch.Request
	var bad int
	if scratch.Buf, bad = resp.AppendCommand(scratch.Buf, req.Cmd, req.Args); bad >= 0 {
		j.to.Send(req, cb, n) // it returns the error
		return
	}
	r.Encoded(req.Cmd, req.Args, scratch.Buf, false)
	switch read, first := j.join(r, cb, n); {
	case first:
		j.to.Send(req, read, 0)
	case read == nil:
		j.to.Send(req, j.changing(cb, r.Changes()), n)
	}
}

// SendMany implements Sender.
func (j *joined) SendMany(reqs []Request, cb Future, start uint64) {
	sets := changesOf(reqs)
	if !slices.ContainsFunc(sets, func(s send.Changes) bool { return !s.Empty() }) {
		j.to.SendMany(reqs, cb, start)
		return
	}
	for _, s := range sets {
		j.table.Changed(s)
	}
	many := &send.ChangingMany{Forward: send.Forward{To: cb}, Sets: sets, Start: start, Changed: j.table.Changed}
	j.to.SendMany(reqs, many, start)
}

// SendTransaction implements Sender.
func (j *joined) SendTransaction(reqs []Request, cb Future, start uint64) {
	var all send.Changes
	for _, s := range changesOf(reqs) {
		all.Add(s)
	}
	j.to.SendTransaction(reqs, j.changing(cb, all), start)
}

// changesOf returns what each of the requests may change. A malformed one is not sent.
func changesOf(reqs []Request) []send.Changes {
	var r send.Request
	var buf []byte
	sets := make([]send.Changes, len(reqs))
	for i, req := range reqs {
		var bad int
		if buf, bad = resp.AppendCommand(buf[:0], req.Cmd, req.Args); bad < 0 {
			r.Encoded(req.Cmd, req.Args, buf, false)
			sets[i] = r.Changes()
		}
	}
	return sets
}

// EachShard implements Sender.
func (j *joined) EachShard(f func(Sender, error) bool) {
	eachShard(j.to, func(shard Sender) Sender { return withJoin(shard, j.table, false) }, f)
}

// joinedBackend is the Sender that WithJoin returns for one of this module.
type joinedBackend struct {
	*joined
	backend send.Backend[Future] // of to
}

// SendEncoded implements send.Backend. A shared request does not depend on the caller that sends it. That
// caller only reads the reply while it waits, and listens to its context from the start.
func (j *joinedBackend) SendEncoded(r *send.Request, cb Future, n uint64) {
	switch read, first := j.join(r, cb, n); {
	case first:
		r.Done, r.Typed, r.Observed, r.Deadline = nil, false, true, time.Time{}
		j.backend.SendEncoded(r, read, 0)
		if r.Ticket.Moves {
			read.Watch(r.Ticket.Queue.(send.Staller))
		}
		r.Ticket = read.Ticket()
	case read != nil:
		r.Ticket = read.Ticket()
	default:
		j.backend.SendEncoded(r, j.changing(cb, r.Changes()), n)
	}
}

// WantsSlot implements send.Backend.
func (j *joinedBackend) WantsSlot() bool { return j.backend.WantsSlot() }

// OpenDedicated implements send.Backend.
func (j *joinedBackend) OpenDedicated(ctx context.Context, keys []string, last error) (send.Dedicated, error) {
	d, err := j.backend.OpenDedicated(ctx, keys, last)
	if err != nil {
		return nil, err
	}
	return &send.ChangingDedicated{Dedicated: d, Changed: j.table.Changed}, nil
}

var _ send.Backend[Future] = (*joinedBackend)(nil)
