package rediscluster

import (
	"sync/atomic"

	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// keyScanner routes each step by its arguments: by the key of HSCAN and the like, or by
// CLUSTERSCAN's cursor.
type keyScanner struct {
	redis.ScannerBase
	c *Cluster
	// roams is set if any node can go on with a cursor of another.
	roams bool

	begins bool   // the step that is under way is the first one of a walk
	node   string // that has answered the first one
	// answered is the node that has answered the last step.
	answered atomic.Pointer[string]
}

// Next implements redis.Scanner.
func (s *keyScanner) Next(cb redis.Future) {
	if !s.IterLast() {
		s.begins = s.Iter == nil
		s.DoNext(keyStep{wire.Passed{To: cb}, s}, s.c)
	} else if cb != nil {
		cb.Resolve(redis.ScanEOF, 0)
	}
}

// keyStep is the future of one step.
type keyStep struct {
	wire.Passed
	s *keyScanner
}

// Observes implements wire.Observer.
func (k keyStep) Observes() bool { return true }

// AnsweredBy implements wire.Observer.
func (k keyStep) AnsweredBy(at wire.Place) {
	k.s.answered.Store(&at.Address)
	k.Passed.AnsweredBy(at)
}

// Resolve implements redis.Future. A cursor says nothing to another node, whose hash tables
// have another order: what it has answered with are elements, but the walk begins anew.
func (k keyStep) Resolve(res any, n uint64) {
	if at := k.s.answered.Load(); at != nil && k.s.Err == nil && !k.s.roams {
		switch {
		case k.s.begins:
			k.s.node = *at
		case *at != k.s.node:
			k.s.Iter = nil
		}
	}
	if k.To != nil {
		k.To.Resolve(res, n)
	}
}
