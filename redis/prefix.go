package redis

import (
	"context"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/prefix"
	"github.com/joomcode/redispipe/internal/send"
)

// WithPrefix returns a Sender that sends through s, and puts a prefix in front of all keys, so that
// several tenants, or a program and its tests, can share a server. Users of the Sender see only
// keys with this prefix, and they don't see the prefix:
//
//   - Keys get the prefix, also the KEYS of scripts and functions, and the patterns of SORT. Names of
//     keys in replies lose it, for example those of BLPOP, XREAD and SCAN.
//   - SCAN and KEYS, a [Scanner] and [Keys] find only keys with the prefix.
//   - The channels of PUBLISH, SPUBLISH and PUBSUB get the prefix, too. For subscribers, set Prefix in
//     redispubsub.SubscriptionOpts.
//   - A request whose keys the Sender does not know fails with an [ErrKeysUnknown] and is not sent: a module's
//     command that is not in the table, a script without KEYS, and commands for all keys, such as
//     FLUSHDB, DBSIZE and RANDOMKEY.
//
// The same holds for batches, transactions, sessions, [Watch], and the senders that EachShard
// passes. A cluster routes by the key with the prefix: a hash tag in a prefix puts all keys in one
// slot. A prefix with a brace but without a tag changes which part of a key is its tag.
//
// A prefix does not protect other tenants, because a script may use keys that are not in its KEYS.
// Errors of servers contain keys with the prefix. Results of scripts, and replies that contain
// other clients' requests (CLIENT LIST), are not changed. For protection, use an ACL user with a
// key pattern.
//
// The retries and hooks of s still work, and get requests without the prefix. WithPrefix may be
// applied several times: the prefix that was added first comes first.
func WithPrefix(s Sender, text string) Sender {
	return inmost(known(s), func(s Sender) Sender { return withPrefix(s, prefix.Prefix(text)) })
}

func withPrefix(s Sender, p prefix.Prefix) Sender {
	own := &prefixed{layer: layer{s, "redis.WithPrefix"}, prefix: p}
	switch to := open(s); {
	case to.backend == nil:
		return own
	case to.memory != nil:
		return prefixedMemory{&prefixedBackend{own, to.backend}}
	default:
		return &prefixedBackend{own, to.backend}
	}
}

// prefixed is the Sender that WithPrefix returns for a user's Sender.
type prefixed struct {
	layer
	prefix prefix.Prefix
}

// Unprefix is for packages of this module. It returns the sender that p sends through, and the prefix.
func (p *prefixed) Unprefix() (inner Sender, text string) { return p.to, string(p.prefix) }

func (p *prefixed) storedKey(key string) string { return storedKey(p.to, string(p.prefix)+key) }

// rewrite returns a request with the prefix, whose memory comes from room. names tells where the reply contains
// names of keys.
func (p *prefixed) rewrite(req Request, room *prefix.Room) (Request, prefix.Names, *errorx.Error) {
	args := command.WithDurations(req.Cmd, req.Args)
	call := command.Of(req.Cmd, args)
	if verdict := call.Verdict(true); verdict != command.Allowed {
		return req, prefix.NoNames, errVerdict(&call, verdict).WithProperty(errs.EKRequest, req)
	}
	if args, ok := p.prefix.OnlyKey(&call, args, room); ok {
		return Request{Cmd: req.Cmd, Args: args}, prefix.NoNames, nil
	}
	cmd, args, names, err := p.prefix.Request(req.Cmd, args, room)
	if err != nil {
		return req, prefix.NoNames, err.WithProperty(errs.EKRequest, req)
	}
	return Request{Cmd: cmd, Args: args}, names, nil
}

// Send implements Sender.
func (p *prefixed) Send(req Request, cb Future, n uint64) {
	to, names, err := p.rewrite(req, nil)
	if err != nil {
		send.Resolve(cb, err, n)
		return
	}
	p.to.Send(to, p.stripping(cb, names), n)
}

// stripping returns a future that removes the prefix from the names in its result.
func (p *prefixed) stripping(cb Future, names prefix.Names) Future {
	if names == prefix.NoNames || cb == nil {
		return cb
	}
	return &strippedFuture{send.Forward{To: cb}, p.prefix, names}
}

// strippedFuture is the future of one request.
type strippedFuture struct {
	send.Forward
	prefix prefix.Prefix
	names  prefix.Names
}

// Resolve implements Future.
func (f *strippedFuture) Resolve(res any, n uint64) { f.To.Resolve(f.prefix.Strip(f.names, res), n) }

// rewriteAll returns requests with the prefix. names tells where each reply contains names of keys;
// it is nil if none does. If a request is refused, bad is its index.
func (p *prefixed) rewriteAll(reqs []Request) (to []Request, names []prefix.Names, bad int, err *errorx.Error) {
	args := 0
	for _, req := range reqs {
		args += len(req.Args)
	}
	room := prefix.NewRoom(len(reqs), args)
	to = make([]Request, len(reqs))
	for i, req := range reqs {
		var of prefix.Names
		if to[i], of, err = p.rewrite(req, room); err != nil {
			return nil, nil, i, err
		}
		if of != prefix.NoNames && names == nil {
			names = make([]prefix.Names, len(reqs))
		}
		if names != nil {
			names[i] = of
		}
	}
	return to, names, -1, nil
}

// SendMany implements Sender.
func (p *prefixed) SendMany(reqs []Request, cb Future, start uint64) {
	to, names, bad, err := p.rewriteAll(reqs)
	switch {
	case err != nil:
		others := errs.ErrBatchFormat.Wrap(err, "the request at index %d of the batch is refused", bad).WithProperty(errs.EKRequests, reqs)
		send.Each(0, len(reqs), func(i int) {
			if i != bad {
				send.Resolve(cb, others.WithProperty(errs.EKRequest, reqs[i]), start+uint64(i))
				return
			}
			send.Resolve(cb, err, start+uint64(i))
		})
		return
	case names != nil && cb != nil:
		cb = &strippedMany{send.Forward{To: cb}, p.prefix, names, start}
	}
	p.to.SendMany(to, cb, start)
}

// strippedMany is the future of several requests.
type strippedMany struct {
	send.Forward
	prefix prefix.Prefix
	names  []prefix.Names
	start  uint64
}

// Resolve implements Future.
func (f *strippedMany) Resolve(res any, n uint64) {
	f.To.Resolve(f.prefix.Strip(f.names[n-f.start], res), n)
}

// SendTransaction implements Sender.
func (p *prefixed) SendTransaction(reqs []Request, cb Future, start uint64) {
	to, names, _, err := p.rewriteAll(reqs)
	switch {
	case err != nil:
		send.Resolve(cb, err, start)
		return
	case names != nil && cb != nil:
		cb = &strippedTransaction{send.Forward{To: cb}, p.prefix, names}
	}
	p.to.SendTransaction(to, cb, start)
}

// strippedTransaction is the future of a transaction.
type strippedTransaction struct {
	send.Forward
	prefix prefix.Prefix
	names  []prefix.Names
}

// Resolve implements Future.
func (f *strippedTransaction) Resolve(res any, n uint64) {
	f.To.Resolve(f.prefix.StripEach(f.names, res), n)
}

// Scanner implements Sender.
func (p *prefixed) Scanner(opts ScanOpts) Scanner {
	var names prefix.Names
	opts.Key, opts.Match, names = p.prefix.Scan(opts.Cmd, opts.Key, opts.Match)
	return &prefixedScanner{p.to.Scanner(opts), p, names}
}

// prefixedScanner is a Scanner over the keys with the prefix, or over the elements of a key with
// the prefix.
type prefixedScanner struct {
	Scanner
	of    *prefixed
	names prefix.Names
}

// Next implements Scanner.
func (s *prefixedScanner) Next(cb Future) { s.Scanner.Next(s.of.stripping(cb, s.names)) }

// step is called by stepOf.
func (s *prefixedScanner) step() Request { return stepOf(s.Scanner) }

// EachShard implements Sender.
func (p *prefixed) EachShard(f func(Sender, error) bool) {
	eachShard(p.to, func(shard Sender) Sender { return withPrefix(shard, p.prefix) }, f)
}

// prefixedBackend is the Sender that WithPrefix returns for a Sender of this module.
type prefixedBackend struct {
	*prefixed
	backend send.Backend[Future] // the backend of to
}

// SendEncoded implements send.Backend.
func (p *prefixedBackend) SendEncoded(r *send.Request, cb Future, n uint64) {
	scratch := send.GetScratch()
	defer send.PutScratch(scratch)
	var names prefix.Names
	err := p.refuses(r)
	if err == nil {
		scratch.Buf, names, err = p.prefix.Encoded(scratch.Buf, r, p.WantsSlot())
	}
	if err != nil {
		send.Resolve(cb, err.WithProperty(errs.EKRequest, Request{Cmd: r.Cmd, Args: r.Args()}), n)
		return
	}
	p.backend.SendEncoded(r, p.stripping(cb, names), n)
}

// refuses returns the error of a request that every connection would refuse, or nil.
func (p *prefixedBackend) refuses(r *send.Request) *errorx.Error {
	if r.Shared != command.Malformed && r.Shared != command.ChangesProtocol {
		return nil
	}
	call := command.Of(r.Cmd, r.Args())
	return errVerdict(&call, r.Shared)
}

// WantsSlot implements send.Backend.
func (p *prefixedBackend) WantsSlot() bool { return p.backend.WantsSlot() }

// OpenDedicated implements send.Backend.
func (p *prefixedBackend) OpenDedicated(ctx context.Context, keys []string, last error) (send.Dedicated, error) {
	stored := make([]string, len(keys))
	for i, key := range keys {
		stored[i] = string(p.prefix) + key
	}
	d, err := p.backend.OpenDedicated(ctx, stored, last)
	if err != nil {
		return nil, err
	}
	return &prefixedDedicated{Dedicated: d, prefix: p.prefix}, nil
}

// prefixedMemory is a prefixedBackend around a sender that answers some requests from its memory.
type prefixedMemory struct{ *prefixedBackend }

// Recall implements send.Memory. It finds nothing, because the request has no prefix yet.
// SendEncoded adds the prefix, and the sender inside may still answer from its memory.
func (prefixedMemory) Recall([]byte) (send.Remembered, bool) { return send.Remembered{}, false }

var (
	_ send.Backend[Future] = (*prefixedBackend)(nil)
	_ send.Memory[Future]  = prefixedMemory{}
)
