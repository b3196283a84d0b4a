package redismirror

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/redis"
)

// Mirror is a [redis.Sender] over two databases: see [New]. It is safe for concurrent use. Create one, and
// share it.
type Mirror struct {
	sides    [2]redis.Sender // the old database and the new one
	encoded  *encoded        // sends single requests; nil if Mirror.Send must do that
	opts     Opts
	gates    gates
	repeats  repeats
	findings findings
	counts   counts
	ctx      context.Context
	cancel   context.CancelFunc

	// moving is held by CutOver, Copy and Repair, so that only one of them runs at a time.
	moving sync.Mutex
	// moved is how many slots were cut over, in the order of slot.Rank. It changes only under moving.
	moved atomic.Int32
}

var _ redis.Sender = (*Mirror)(nil)

// New returns a Mirror of two databases: from, the old one, which decides at first, and to, the new one. Both
// may be clients, connections or clusters, with the same protocol. Leave ConnHostPolicy of a cluster at its
// default, so that the writes of a key keep their order. Nothing else may write to the new database. New
// returns an [ErrSenders] if a sender is nil or both are the same, and a [redis.ErrOption] if an option is out
// of its bounds.
func New(from, to redis.Sender, opts Opts) (*Mirror, error) {
	if errs.IsNil(from) || errs.IsNil(to) {
		return nil, redis.Err(ErrSenders.New("a Mirror needs two senders"))
	}
	if backend.Same(from, to) {
		return nil, redis.Err(ErrSenders.New("both senders of a Mirror are the same"))
	}
	if err := opts.check(); err != nil {
		return nil, redis.Err(err)
	}
	m := &Mirror{sides: [2]redis.Sender{from, to}, opts: opts.withDefaults()}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.gates.emptied = make(chan struct{}, 1)
	m.findings.most = m.opts.MaxFindings
	m.findings.of = map[findingKey]*Finding{}
	m.repeats.queue = make(chan *mirrored, m.opts.MaxPending)
	m.repeats.suspects = make(chan *mirrored, suspectsMost)
	m.encoded = newEncoded(m)
	go m.repeat()
	go m.checkAgain()
	return m, nil
}

// Send implements [redis.Sender].
func (m *Mirror) Send(req redis.Request, cb redis.Future, n uint64) {
	m.send(m.operation(cb, n, false, m.draws()), []redis.Request{req}, nil)
}

// SendMany implements [redis.Sender]. It mirrors each request separately, and keeps their order. If one of the
// requests is malformed, it sends none.
func (m *Mirror) SendMany(reqs []redis.Request, cb redis.Future, start uint64) {
	for _, req := range reqs {
		if _, err := redis.AppendRequest(nil, req); err != nil {
			m.keyless().SendMany(reqs, cb, start)
			return
		}
	}
	for i, req := range reqs {
		m.Send(req, cb, start+uint64(i))
	}
}

// SendTransaction implements [redis.Sender]. The Mirror repeats the requests as a transaction as well.
func (m *Mirror) SendTransaction(reqs []redis.Request, cb redis.Future, n uint64) {
	m.send(m.operation(cb, n, true, false), reqs, nil)
}

func (m *Mirror) operation(cb redis.Future, n uint64, transaction, compared bool) *operation {
	return &operation{Forward: send.Forward{To: cb}, m: m, n: n, compared: compared, mirrored: &mirrored{transaction: transaction}}
}

// draws decides at random whether a request is compared if it is a read.
func (m *Mirror) draws() bool { return m.opened() && m.opts.Reads > 0 && rand.Float64() < m.opts.Reads }

// Scanner implements [redis.Sender]. It scans the old database until all keys are cut over, and then the new
// one.
func (m *Mirror) Scanner(opts redis.ScanOpts) redis.Scanner { return m.keyless().Scanner(opts) }

// EachShard implements [redis.Sender], for the old database until all keys are cut over, and then for the new
// one. Writes through the senders of shards are not repeated.
func (m *Mirror) EachShard(f func(redis.Sender, error) bool) { m.keyless().EachShard(f) }

// Close ends the Mirror and closes both senders. Requests that wait to be repeated are dropped. Afterwards
// requests, Copy, Repair and CutOver fail with [redis.ErrContextClosed].
func (m *Mirror) Close() {
	if !m.opened() {
		return
	}
	m.cancel()
	m.sides[0].Close()
	m.sides[1].Close()
}

// opened reports whether New has returned m.
func (m *Mirror) opened() bool { return m != nil && m.ctx != nil }

// ended returns an error once the Mirror is closed, and if New has not returned it.
func (m *Mirror) ended() error {
	if !m.opened() {
		return errs.NoSender()
	}
	if m.ctx.Err() == nil {
		return nil
	}
	return redis.ErrContextClosed.New("the Mirror is closed")
}

// keyless returns the database that decides for requests without keys. If New has not returned m, that is
// [backend.Nobody].
func (m *Mirror) keyless() redis.Sender {
	if !m.opened() {
		return backend.Nobody
	}
	return m.sides[m.gates.side(slot.Count)]
}

// send sends the requests of an operation, at once or when the gates of their slots are open. If encoded is not nil,
// the operation has only this request, which belongs to the caller.
func (m *Mirror) send(o *operation, reqs []redis.Request, encoded *send.Request) {
	if err := m.ended(); err != nil {
		o.refuse(err)
		return
	}
	if err := o.describe(reqs); err != nil {
		o.refuse(err)
		return
	}
	if !o.writes || m.gates.enter(o) {
		m.sendNow(o, reqs, encoded)
	}
}

// sendHeld sends a write that has waited.
func (m *Mirror) sendHeld(o *operation) {
	switch why := send.WhyCancelled(o); {
	case m.encoded == nil || o.transaction:
		m.sendNow(o, o.requests(), nil)
	case why != nil:
		m.gates.leave(o.mirrored)
		o.refuse(redis.ErrRequestWithdrawn.Wrap(why, "cancelled before it was sent"))
	default:
		own := o.reqs[0]
		m.sendNow(o, nil, &own)
	}
}

// sendNow sends the requests of an operation to the database that decides. If encoded is not nil, it is the request.
// Otherwise the requests are in reqs.
func (m *Mirror) sendNow(o *operation, reqs []redis.Request, encoded *send.Request) {
	side, one := m.gates.sideOf(o.slots)
	if !one || o.flushes && m.moved.Load()%slot.Count != 0 {
		m.gates.leave(o.mirrored)
		o.refuse(ErrBothSides.New("one database decides for some of the keys, and the other one for the rest").WithProperty(errs.EKStays, true))
		return
	}
	o.side = side
	if o.compared && !o.writes && len(o.keys) > 0 && !o.blocks {
		o.sampled = o.encode(reqs) == nil
	}
	to, cb := m.sides[side], redis.Future(o)
	if !o.writes && !o.sampled && !o.transaction {
		cb = o.To
	}
	switch {
	case o.transaction:
		to.SendTransaction(reqs, cb, o.n)
	case encoded != nil:
		encoded.Typed = encoded.Typed && cb != redis.Future(o) // an operation needs the result
		m.encoded.pass(side, encoded, cb, o.n)
	default:
		to.Send(reqs[0], cb, o.n)
	}
}

// describe records the properties of the requests. It returns an error if one of them can't be mirrored.
func (o *mirrored) describe(reqs []redis.Request) error {
	for _, req := range reqs {
		call := command.Of(req.Cmd, req.Args)
		blocks, readOnly := call.Verdict(false) == command.WouldBlock, call.Reads()
		keys, code := req.Keys(), call.Info != nil && call.RunsCode()
		for _, key := range keys {
			o.slots = append(o.slots, int(slot.Of(key)))
		}
		writes := !readOnly && (len(keys) > 0 || code || repeated[call.ShownName(req.Cmd)])
		if writes && blocks {
			return redis.ErrCommandForbidden.New("a Mirror can't repeat %s, which blocks", call.ShownName(req.Cmd))
		}
		o.code = o.code || code
		o.writes = o.writes || writes
		o.blocks = o.blocks || blocks
		o.flushes = o.flushes || call.Named("FLUSHALL") || call.Named("FLUSHDB")
		o.keys = append(o.keys, keys...)
		o.name = call.ShownName(req.Cmd)
	}
	if o.transaction {
		o.name = "EXEC"
	}
	if len(o.slots) == 0 {
		o.slots = append(o.slots, slot.Count)
	}
	if o.writes {
		return o.encode(reqs)
	}
	return nil
}

// repeated holds the commands without keys that the Mirror repeats.
var repeated = map[string]bool{
	"FLUSHALL": true, "FLUSHDB": true, "PUBLISH": true, "SCRIPT LOAD": true, "SCRIPT FLUSH": true,
	"FUNCTION LOAD": true, "FUNCTION DELETE": true, "FUNCTION FLUSH": true, "FUNCTION RESTORE": true,
}
