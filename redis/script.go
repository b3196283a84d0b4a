package redis

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/values"
)

// Script is a Lua script. A call sends the script's hash (EVALSHA). If the server does not know the
// hash (after SCRIPT FLUSH, a restart or a failover), the call sends the body, so the caller never
// sees NOSCRIPT. If many calls get NOSCRIPT at the same time, only one of them sends the body to
// each node. The other calls are sent again after the body, in the order of their NOSCRIPT replies.
//
// Create a script once, usually in a package variable. It is safe for concurrent use, with any
// number of Senders. In a cluster its keys decide where it runs.
//
//	var take = redis.NewScript(`return redis.call('DECRBY', KEYS[1], ARGV[1])`)
//
//	left, err := redis.As[int64](take.Do(ctx, sender, []string{"stock"}, 2))
//
// After an error, [SafeToRetry] reports whether a retry is safe, as with any request. If a script
// fails half-way, its earlier writes remain. A script must not return exactly the error of a server
// that lacks it, "NOSCRIPT No matching script", because it would then run again.
type Script struct {
	src            string
	byHash, byBody string // the commands that run it
	fromServer     bool

	hash     atomic.Pointer[string]
	loaded   atomic.Bool // a server has run the script by its hash, and no server has replied NOSCRIPT since
	asking   atomic.Bool // SCRIPT LOAD is in flight or was refused
	disputed atomic.Bool

	mu sync.Mutex // guards the fields below
	// bursts holds the calls that wait for the answer to a body, keyed by the address of the node
	// that lacks the script.
	bursts map[string][]*scriptCall
}

// NewScript returns a script with the given source.
func NewScript(src string) *Script {
	return &Script{src: src, byHash: "EVALSHA", byBody: "EVAL", bursts: map[string][]*scriptCall{}}
}

// NewReadOnlyScript returns a script that does not write. Calls use EVALSHA_RO and
// EVAL_RO, which Redis has from 7.0 on. In a cluster the policy of the Sender may send
// it to replicas.
func NewReadOnlyScript(src string) *Script {
	s := NewScript(src)
	s.byHash, s.byBody = "EVALSHA_RO", "EVAL_RO"
	return s
}

// ServerHash makes the script ask a server for its hash (SCRIPT LOAD) instead of computing it, for
// builds that must not use SHA-1 (FIPS). Calls send the body until the answer has arrived, and
// always if the server refuses SCRIPT LOAD. ServerHash returns s. Call ServerHash before you use s.
func (s *Script) ServerHash() *Script {
	if s != nil {
		s.fromServer = true
	}
	return s
}

// errScript: a script is nil or zero.
var errScript = errs.ErrOpts.NewType("script", errs.ErrTraitNotSent)

// check returns an error unless NewScript or NewReadOnlyScript has returned s.
func (s *Script) check() error {
	if s == nil || s.bursts == nil {
		return errScript.New("the script is nil or empty: NewScript makes one")
	}
	return nil
}

// Do runs the script and returns its result, as [SyncCtx.Do] does. It does not retain
// arguments. If a server's hash of the script differs from the library's, or this program must
// not compute one (GODEBUG=fips140=only), nothing is sent, and the result is an [ErrScriptHash].
func (s *Script) Do(ctx context.Context, to Sender, keys []string, args ...any) any {
	return s.run(ctx, to, keys, args, func(to Sender, r Request) any {
		return do(ctx, to, r.Cmd, r.Args, nil, nil)
	})
}

// DoInto runs the script and reads its reply into dst, as [SyncCtx.DoInto] does.
func (s *Script) DoInto(ctx context.Context, to Sender, dst any, keys []string, args ...any) error {
	return errs.Err(s.run(ctx, to, keys, args, func(to Sender, r Request) any {
		return doInto(ctx, to, dst, r.Cmd, r.Args)
	}))
}

// run runs the script with send, and once more after the body if the server lacks the script.
func (s *Script) run(ctx context.Context, to Sender, keys []string, args []any, send func(Sender, Request) any) any {
	if ctx == nil {
		return errs.NilContext()
	}
	if err := s.check(); err != nil {
		return err
	}
	r := s.Request(keys, args...)
	if r.Cmd == s.byBody {
		s.ask(to)
	}
	res := send(to, r)
	if missed := noScript(res); missed != nil && r.Cmd == s.byHash {
		res = send(outside(to, func(inner Sender) Sender { return afterMiss{inner, s, missed} }), r)
	}
	return res
}

// Request returns a request that runs the script, for batches and transactions. Send it
// through [WithScripts]; through another Sender the result may be an ErrNoScript. For a [Tx] or a
// [Session], use [Script.RequestWithBody].
func (s *Script) Request(keys []string, args ...any) Request {
	if err := s.check(); err != nil {
		return badRequest("EVALSHA", err, keys, args)
	}
	hash := s.knownHash()
	switch {
	case s.disputed.Load():
		return badRequest(s.byHash, s.errDisputed(), keys, args)
	case hash != "":
		return callRequest(s.byHash, hash, keys, args)
	case s.fromServer:
		return callRequest(s.byBody, s.src, keys, args)
	}
	return badRequest(s.byHash, errs.ErrScriptHash.New("this program must not compute SHA-1 (FIPS 140): use Script.ServerHash"), keys, args)
}

// RequestWithBody returns a request that runs the script by its body (EVAL), so it also runs on a
// server that lacks the script. Use it for [Tx.Queue] and the methods of [Session], in which the
// library can't repeat a request that got NOSCRIPT.
func (s *Script) RequestWithBody(keys []string, args ...any) Request {
	if err := s.check(); err != nil {
		return badRequest("EVAL", err, keys, args)
	}
	return callRequest(s.byBody, s.src, keys, args)
}

// badRequest returns a call that fails with the error why and is not sent.
func badRequest(cmd string, why error, keys []string, args []any) Request {
	r := callRequest(cmd, "", keys, args)
	r.Args[0] = values.NewBad(why)
	return r
}

// callRequest returns the request that calls a script or a function.
func callRequest(cmd, callee string, keys []string, args []any) Request {
	all := make([]any, 0, 2+len(keys)+len(args))
	all = append(all, callee, len(keys))
	for _, key := range keys {
		all = append(all, key)
	}
	return Request{Cmd: cmd, Args: append(all, args...)}
}

// Load loads the script into every master, so that no call has to send the body. It is
// optional, because a call loads a missing script. The error is an
// [ErrScriptHash] if a server's hash differs from the library's. Otherwise it joins
// (errors.Join) one error for each master that failed; the others have the script.
func (s *Script) Load(ctx context.Context, to Sender) error {
	if err := s.check(); err != nil {
		return errs.Err(err)
	}
	return onShards(ctx, to, Req("SCRIPT LOAD", s.src), func(res any) error {
		hash, err := values.As[string](res)
		if err != nil {
			return err
		}
		return s.confirm(hash)
	})
}

// onShards sends a request to one master after the other, and passes each result that is
// not an error to done. It returns the errors of the masters and of done.
func onShards(ctx context.Context, to Sender, req Request, done func(any) error) error {
	if ctx == nil {
		return errs.Err(errs.NilContext())
	}
	var failed []error
	known(to).EachShard(func(shard Sender, err error) bool {
		if err == nil {
			res := SyncCtx{S: shard}.Send(ctx, req)
			if err = errs.Of(res); err == nil {
				err = done(res)
			}
		}
		if err != nil {
			failed = append(failed, errs.Err(err))
		}
		return true
	})
	if len(failed) == 1 {
		return failed[0]
	}
	return errors.Join(failed...)
}

// knownHash returns the hash, or "" if it is not known: it must come from a server and none has
// answered yet, or this program must not compute it.
func (s *Script) knownHash() string {
	if hash := s.hash.Load(); hash != nil {
		return *hash
	}
	if s.fromServer {
		return ""
	}
	hash := sha1Of(s.src)
	if hash != "" {
		s.hash.Store(&hash)
	}
	return hash
}

// sha1Of returns the hash of a source, or "" in a program that must not compute it: with
// GODEBUG=fips140=only, package sha1 panics.
func sha1Of(src string) (hash string) {
	defer func() { _ = recover() }()
	sum := sha1.Sum([]byte(src))
	return hex.EncodeToString(sum[:])
}

// ask asks any master for the hash, unless a request for it is in flight or was refused. It does
// not wait.
func (s *Script) ask(to Sender) {
	if !s.asking.CompareAndSwap(false, true) {
		return
	}
	sent := false
	known(to).EachShard(func(shard Sender, err error) bool {
		if err != nil {
			return true
		}
		sent = true
		shard.Send(Req("SCRIPT LOAD", s.src), FuncFuture(func(res any, _ uint64) {
			hash, err := values.As[string](res)
			if err == nil {
				err = s.confirm(hash)
			}
			// If the server has refused because of the user's permissions, it would refuse each
			// time.
			s.asking.Store(err != nil && errs.OutcomeOf(res) == errs.Refused)
		}), 0)
		return false
	})
	if !sent {
		s.asking.Store(false)
	}
}

// confirm returns an error unless hash, a server's answer, agrees with the known hash.
func (s *Script) confirm(hash string) error {
	if raw, err := hex.DecodeString(hash); err == nil && len(raw) == sha1.Size {
		if !s.fromServer {
			s.knownHash()
		}
		if s.hash.CompareAndSwap(nil, &hash) || *s.hash.Load() == hash {
			return nil
		}
	}
	s.disputed.Store(true)
	return s.errDisputed()
}

func (s *Script) errDisputed() error {
	if s.fromServer {
		return errs.ErrScriptHash.New("servers do not agree on the script's hash: send its body, with %s", s.byBody)
	}
	return errs.ErrScriptHash.New("the server has another hash for the script: use Script.ServerHash")
}
