package redismirror

import (
	"sync/atomic"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
)

// operation is the future of a request or a transaction on the database that decides.
type operation struct {
	send.Forward
	m        *Mirror
	n        uint64
	compared bool // the operation is compared, if it is a read
	resolved atomic.Bool
	*mirrored
}

// mirrored is the Mirror's copy of an operation. It outlives the operation, because it is repeated
// later, and has no reference to the caller.
type mirrored struct {
	name        string // the name of the command; EXEC for a transaction
	transaction bool
	keys        []string
	slots       []int // the slots of keys; slot.Count without keys
	writes      bool
	code        bool // a script or function, which may have written even if it fails
	flushes     bool
	blocks      bool
	reqs        []send.Request // the encoded requests, if they must be repeated
	bytes       int            // the size of reqs

	side    int    // the index of the database that decides
	inside  bool   // the gates of slots count the operation
	sampled bool   // the operation is a read that must be compared
	digest  digest // the digest of the deciding database's answer
}

// encode keeps an encoded copy of the requests, because their arguments belong to the caller. If it has kept
// one already, it does nothing.
func (o *mirrored) encode(reqs []redis.Request) error {
	if o.reqs != nil {
		return nil
	}
	for _, req := range reqs {
		r, buf, err := backend.Encode(nil, req, true)
		if err != nil {
			o.reqs = nil
			return err
		}
		r.Plain = true
		o.reqs, o.bytes = append(o.reqs, r), o.bytes+len(buf)
	}
	return nil
}

// requests returns the requests that encode has kept.
func (o *mirrored) requests() []redis.Request {
	reqs := make([]redis.Request, len(o.reqs))
	for i := range o.reqs {
		reqs[i] = redis.Request{Cmd: o.reqs[i].Cmd, Args: o.reqs[i].Args()}
	}
	return reqs
}

// sendTo sends an operation, from its encoded copy, to a database.
func (m *Mirror) sendTo(side int, o *mirrored, cb redis.Future) {
	switch {
	case o.transaction:
		m.sides[side].SendTransaction(o.requests(), cb, 0)
	case m.encoded != nil:
		own := o.reqs[0]
		m.encoded.pass(side, &own, cb, 0)
	default:
		m.sides[side].Send(o.requests()[0], cb, 0)
	}
}

// refuse ends an operation that is not sent.
func (o *operation) refuse(err error) { send.Resolve(o.To, err, o.n) }

// Resolve implements redis.Future.
func (o *operation) Resolve(res any, n uint64) {
	if o.resolved.Swap(true) { // a sender of another library may resolve the future twice
		return
	}
	o.m.decided(o.mirrored, res)
	send.Resolve(o.To, res, n)
}

// decided handles the answer of the deciding database. It does not block.
func (m *Mirror) decided(o *mirrored, res any) {
	switch outcome := redis.OutcomeOf(res); {
	case outcome == redis.OutcomeValue && (o.writes || o.sampled):
		o.digest = digestOf(o.name, res)
		m.add(o)
		return
	case o.writes && (outcome == redis.OutcomeUnknown || outcome == redis.OutcomeRefused && o.code):
		m.findings.add(o, Unknown, redis.Err(res))
	}
	m.gates.leave(o)
}
