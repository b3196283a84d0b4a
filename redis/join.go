package redis

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis/internal/join"
)

// WithJoin returns a Sender that sends through s. If a caller sends a read while the same read is
// under way, the two share one request, and each caller gets a copy of the reply. So if thousands
// of callers read the same at the same time, the server gets only a few requests.
//
// A read does not share a request that began before the latest write to one of its keys through
// this sender. That means before the write was sent and also before it was answered. So callers see
// their own writes. A write that names no keys, such as a script without KEYS, counts as a write to
// all keys. But the sender does not know writes of other clients. A caller may get a reply to a
// request that began up to 100 ms before its own call. If a cluster's node stalls, waiting callers
// leave it, as they do without WithJoin.
//
// Only single requests are shared: those of Sync, SyncCtx, ChanFutured and Send. Batches,
// transactions, sessions and the senders that EachShard passes send all of their reads; their
// writes count as writes. Some reads are never shared: those whose replies depend on chance
// (SRANDMEMBER), and those that run code, block, iterate, or read keys that they don't name
// (SORT_RO).
//
// A caller that leaves does not disturb the others: the shared request continues as long as any
// caller waits for it. If it fails, all of its callers get the error. The retries and hooks of s
// see each caller's request.
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

// joined is the Sender that WithJoin returns for a user's Sender.
type joined struct {
	layer
	table *join.Table
	reads bool // reads are shared; false for the sender of a shard
}

// join returns the shared read of a request. If first is set, the caller must send the read. If the
// request is not shared, join returns nil.
func (j *joined) join(r *send.Request, cb Future, n uint64) (read *join.Read, first bool) {
	if !j.reads {
		return nil, false
	}
	read, first, _ = j.table.Join(r, cb, n)
	return read, first
}

// changing returns the future of requests that may change keys. It counts their writes when it is
// called, before they are sent, and when they are answered.
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
		j.to.Send(req, cb, n) // to resolves cb with the error
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
	if sets == nil {
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

// changesOf returns the keys that each request may change, or nil if no request changes anything. A malformed
// request changes nothing, because it is not sent.
func changesOf(reqs []Request) (sets []send.Changes) {
	var r send.Request
	var buf []byte
	for i, req := range reqs {
		r.Encoded(req.Cmd, req.Args, nil, false)
		if r.OnlyReads() {
			continue // without being encoded
		}
		var bad int
		if buf, bad = resp.AppendCommand(buf[:0], req.Cmd, req.Args); bad >= 0 {
			continue
		}
		r.Buf = buf
		if set := r.Changes(); !set.Empty() {
			if sets == nil {
				sets = make([]send.Changes, len(reqs))
			}
			sets[i] = set
		}
	}
	return sets
}

// EachShard implements Sender.
func (j *joined) EachShard(f func(Sender, error) bool) {
	eachShard(j.to, func(shard Sender) Sender { return withJoin(shard, j.table, false) }, f)
}

// joinedBackend is the Sender that WithJoin returns for a Sender of this module.
type joinedBackend struct {
	*joined
	backend send.Backend[Future] // the backend of to
}

// SendEncoded implements send.Backend. A shared request does not depend on the caller that sends
// it. That caller listens to its context from the start, and only reads the reply while it waits.
func (j *joinedBackend) SendEncoded(r *send.Request, cb Future, n uint64) {
	switch read, first := j.join(r, cb, n); {
	case first:
		r.Done, r.Typed, r.Observed, r.Deadline = nil, false, read.Observes(), time.Time{}
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
