package redis

import (
	"cmp"
	"errors"
	"sync"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
)

// Scanner iterates in batches.
type Scanner interface {
	// Next resolves cb with the next batch ([]string), with an error, or with ScanEOF at the end.
	// Only one Next may run at a time. After an error, the next call repeats the step that failed.
	// After ScanEOF, it returns ScanEOF again.
	Next(cb Future)
}

// ScanEOF is the result that a Scanner's future gets when the iteration is complete. It is
// not a failure.
var ScanEOF = errors.New("scan: end of iteration")

// ScanOpts are the options of an iteration.
type ScanOpts struct {
	// Cmd is SCAN (the default), HSCAN, SSCAN, ZSCAN, or CLUSTERSCAN for a cluster of
	// servers that have it: see [Keys].
	Cmd string
	// Key is the key that HSCAN, SSCAN and ZSCAN iterate over; the others ignore it.
	Key string
	// Match is a glob pattern; empty matches all.
	Match string
	// Count is a hint of how many elements one step examines; 0 means the server's
	// default (10, see the Redis documentation of SCAN).
	Count int
}

// Request returns the request for the step after the cursor it. A nil cursor starts the iteration.
func (s ScanOpts) Request(it []byte) Request {
	if it == nil {
		it = []byte("0")
	}
	cmd, args := cmp.Or(s.Cmd, "SCAN"), make([]any, 0, 6)
	if c := command.Lookup(cmd); !c.Named("SCAN") && !c.Named("CLUSTERSCAN") {
		args = append(args, s.Key)
	}
	args = append(args, it)
	if s.Match != "" {
		args = append(args, "MATCH", s.Match)
	}
	if s.Count > 0 {
		args = append(args, "COUNT", s.Count)
	}
	return Request{Cmd: cmd, Args: args}
}

// ScanResponse splits the response to a SCAN command into the next cursor and the
// batch.
func ScanResponse(res any) (it []byte, keys []string, err error) {
	if err := errs.Of(res); err != nil {
		return nil, nil, err
	}
	unexpected := func(what string) error {
		return errs.ErrResponseUnexpected.New("scan: %s", what).WithProperty(errs.EKResponse, res)
	}
	pair, ok := res.([]any)
	if !ok || len(pair) != 2 {
		return nil, nil, unexpected("reply is not an array of two")
	}
	it, ok = pair[0].([]byte)
	if !ok {
		return nil, nil, unexpected("cursor is not a string")
	}
	list, ok := pair[1].([]any)
	if !ok {
		return nil, nil, unexpected("second element is not an array")
	}
	keys = make([]string, len(list))
	for i, el := range list {
		if keys[i], ok = resp.TextOf(el); !ok {
			return nil, nil, unexpected("element is not a string")
		}
	}
	return it, keys, nil
}

// ScannerBase is the part of a [Scanner] that all Senders share. Embed it and call DoNext. It is
// not safe for concurrent use. A cursor is valid only in the server process that has returned it,
// because another server, or the same one after a restart, has its hash tables in another order. So
// when another process answers a step, the iteration delivers the elements of that answer and
// starts again. Only the cursor of CLUSTERSCAN leads from node to node.
type ScannerBase struct {
	ScanOpts
	// Iter is the last cursor, or nil before the first step.
	Iter []byte
	// Err is the error of the last step.
	Err error

	cb Future
	// at is the server that answered the last step, or empty if the iteration has just begun.
	at answerer
}

// DoNext sends the next step through snd, and resolves cb with the batch of that step.
func (s *ScannerBase) DoNext(cb Future, snd Sender) {
	s.cb = cb
	known(snd).Send(s.step(), &scanStep{Forward: send.Forward{To: cb}, s: s}, 0)
}

// step returns the request of the next step.
func (s *ScannerBase) step() Request { return s.ScanOpts.Request(s.Iter) }

// stepOf returns the request of a Scanner's next step. It is empty for a Scanner without
// a ScannerBase.
func stepOf(s Scanner) Request {
	if known, ok := s.(interface{ step() Request }); ok {
		return known.step()
	}
	return Request{}
}

// ofStep adds to err the request of the step that failed.
func ofStep(err error, step Request) error {
	if step.Cmd == "" {
		return err
	}
	return withRequest(err, step.Cmd, step.Args)
}

// IterLast reports whether the last step ended the iteration.
func (s *ScannerBase) IterLast() bool {
	return len(s.Iter) == 1 && s.Iter[0] == '0'
}

// Cancelled implements Future.
func (s *ScannerBase) Cancelled() error {
	if s.cb == nil {
		return nil
	}
	return s.cb.Cancelled()
}

// Resolve implements Future.
func (s *ScannerBase) Resolve(res any, _ uint64) { s.resolve(res, s.at) }

// resolve ends a step with a server's answer.
func (s *ScannerBase) resolve(res any, at answerer) {
	cb := s.cb
	s.cb = nil
	it, keys, err := ScanResponse(res)
	if err != nil {
		req := s.step()
		err = withRequest(err, req.Cmd, req.Args)
	}
	s.Err = err
	if err != nil {
		send.Resolve(cb, err, 0)
		return
	}
	begins := s.Iter == nil
	before := s.at
	s.Iter, s.at = it, at
	switch {
	case command.Lookup(s.Cmd).Named("CLUSTERSCAN"), begins && s.IterLast():
	case begins && at.process != nil: // ask now, because a process can't be asked after it has ended
		at.process.AskRunID(func(error) {})
	case begins, at == before:
	case at.process == nil || before.process == nil || at.address != before.address:
		s.Iter = nil
	default:
		at.process.AskRunID(func(error) {
			if !sameProcess(before.process, at.process) {
				s.Iter = nil
			}
			send.Resolve(cb, keys, 0)
		})
		return
	}
	send.Resolve(cb, keys, 0)
}

// answerer is the server that has answered a step. It is empty if the sender does not name the
// server.
type answerer struct {
	address string
	process send.Process
}

// sameProcess reports whether two sockets lead to the same server process. It returns true if the
// server reports its process on neither of them.
func sameProcess(a, b send.Process) bool {
	one, other := a.RunID(), b.RunID()
	return one != nil && other != nil && *one == *other
}

// scanStep is the future of one step.
type scanStep struct {
	send.Forward
	s *ScannerBase

	mu sync.Mutex // guards at
	at answerer
}

// Caller is called by send.CallerOf. It returns nil, because no caller reads the reply to a step.
// So senders ask the future itself whether it is cancelled, and do not send a step whose caller has
// left.
func (*scanStep) Caller() send.Caller { return nil }

// Observes implements send.Observer.
func (*scanStep) Observes() bool { return true }

// AnsweredBy implements send.Observer.
func (s *scanStep) AnsweredBy(at send.Server) {
	s.mu.Lock()
	s.at = answerer{address: at.Address}
	s.mu.Unlock()
	s.Forward.AnsweredBy(at)
}

// AnsweredIn implements send.Follower.
func (s *scanStep) AnsweredIn(in send.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at.process = in
}

// Resolve implements Future.
func (s *scanStep) Resolve(res any, _ uint64) {
	s.mu.Lock()
	at := s.at
	s.mu.Unlock()
	s.s.resolve(res, at)
}
