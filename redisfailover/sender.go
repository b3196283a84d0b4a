package redisfailover

import (
	"context"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
)

// sender sends to the active member. It does not retry; redis.WithRetry, which wraps it, does.
type sender struct{ c *Client }

var (
	_ redis.Sender               = (*sender)(nil)
	_ send.Backend[redis.Future] = (*sender)(nil)
	_ send.Restorer              = (*sender)(nil)
	_ send.Counter               = (*sender)(nil)
)

// Ctx returns the context that ends with the client.
func (s *sender) Ctx() context.Context { return s.c.ctx }

// SendEncoded implements send.Backend.
func (s *sender) SendEncoded(r *send.Request, cb redis.Future, n uint64) {
	t := s.c.active.Load()
	if b := t.back.Load(); b != nil && !r.Is("SPUBLISH") { // messages go to the active member, where subscribers are
		t = t.of(r.Slot)
	}
	blocks := r.Shared == command.WouldBlock
	if t.backend == nil {
		t.sender.Send(redis.Request{Cmd: r.Cmd, Args: r.Args()}, newForeign(newAttempt(t, cb, blocks)), n)
		return
	}
	if !t.slots {
		r.Slot = send.NoSlot
	}
	if blocks || r.Judge != nil || !send.TakesJudge(cb) {
		cb = newAttempt(t, cb, blocks)
	} else {
		r.Judge = t
	}
	t.backend.SendEncoded(r, cb, n)
}

// WantsSlot implements send.Backend. It returns true if any member needs the slot, because that member may
// become active before the request is sent.
func (s *sender) WantsSlot() bool { return s.c.slots }

// OpenDedicated implements send.Backend.
func (s *sender) OpenDedicated(ctx context.Context, keys []string, last error) (send.Dedicated, error) {
	t := s.c.active.Load().ofKeys(keys)
	if t.backend == nil {
		return nil, redis.ErrSession.New("%s is %s, which has no sessions", t.member.name, send.Describe(t.sender))
	}
	d, err := t.backend.OpenDedicated(ctx, keys, last)
	if err != nil {
		t.member.note(err, 1)
		return nil, err
	}
	return &dedicated{Dedicated: d, of: t}, nil
}

// Requests implements send.Counter. It returns how many requests and probes were answered.
func (s *sender) Requests() (sum uint64) {
	for _, m := range s.c.members {
		sum += m.good.Load()
	}
	return sum
}

// Restored implements send.Restorer. It returns nil, because a retry need not wait until the member that has
// lost its connection is back: another member may become active before that.
func (s *sender) Restored() <-chan struct{} { return nil }

// Send implements redis.Sender.
func (s *sender) Send(r redis.Request, cb redis.Future, n uint64) {
	t := s.c.active.Load().ofRequests(r)
	t.sender.Send(r, anyNumber(t, cb), n)
}

// SendMany implements redis.Sender.
func (s *sender) SendMany(reqs []redis.Request, cb redis.Future, start uint64) {
	for t := s.c.active.Load(); len(reqs) > 0; {
		to, n := t.ofFirst(reqs)
		to.sender.SendMany(reqs[:n], anyNumber(to, cb), start)
		reqs, start = reqs[n:], start+uint64(n)
	}
}

// SendTransaction implements redis.Sender.
func (s *sender) SendTransaction(reqs []redis.Request, cb redis.Future, start uint64) {
	t := s.c.active.Load().ofRequests(reqs...)
	t.sender.SendTransaction(reqs, anyNumber(t, cb), start)
}

// anyNumber returns the future for any number of requests.
func anyNumber(t *term, cb redis.Future) redis.Future {
	a := newAttempt(t, cb, false)
	if _, names := cb.(send.Namer); names {
		return naming{a}
	}
	return a
}

// naming is an attempt whose user's future itself adds the requests to their errors.
type naming struct{ *attempt }

// NamesRequests implements send.Namer.
func (naming) NamesRequests() {}

// Scanner implements redis.Sender.
func (s *sender) Scanner(opts redis.ScanOpts) redis.Scanner { return &scanner{c: s.c, opts: opts} }

// EachShard implements redis.Sender. The shards belong to the member that is active now.
func (s *sender) EachShard(f func(redis.Sender, error) bool) { s.c.active.Load().sender.EachShard(f) }

// Close implements redis.Sender.
func (s *sender) Close() { s.c.Close() }

// scanner iterates on the active member. It starts again when another member becomes active, because
// a cursor is valid on only one member.
type scanner struct {
	c    *Client
	opts redis.ScanOpts
	of   *term
	on   redis.Scanner // the scanner of that term's member
	done bool
}

// Next implements redis.Scanner.
func (s *scanner) Next(cb redis.Future) {
	if t := s.c.active.Load(); t != s.of && !s.done {
		s.of, s.on = t, t.sender.Scanner(s.opts)
	}
	s.on.Next(&scanStep{attempt: attempt{Forward: send.Forward{To: cb}, of: s.of}, s: s})
}

// scanStep is the future of one step.
type scanStep struct {
	attempt
	s *scanner
}

// Resolve implements redis.Future.
func (s *scanStep) Resolve(res any, n uint64) {
	s.s.done = res == any(redis.ScanEOF)
	s.attempt.Resolve(res, n)
}

// dedicated is the connection of a session. It refuses requests after its term has ended.
type dedicated struct {
	send.Dedicated
	of *term
}

// Exchange implements send.Dedicated.
func (d *dedicated) Exchange(ctx context.Context, reqs []send.Request, each func(i int, res any)) error {
	if d.of.over() {
		return redis.ErrSessionLost.New("%s: open another session", d.of.left())
	}
	return d.Dedicated.Exchange(ctx, reqs, each)
}
