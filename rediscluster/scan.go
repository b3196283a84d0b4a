package rediscluster

import (
	"strings"
	"sync/atomic"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/route"
	"github.com/joomcode/redispipe/rediscluster/internal/topology"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
	"github.com/joomcode/redispipe/redisconn"
)

// Scanner implements redis.Sender. SCAN walks every master, one after the other. It returns a key
// that exists throughout at least once, even if its slot moves in the
// meantime: if a walk has not covered a slot, the scanner walks that slot again, on the node that then
// has it, and returns only its keys. It may miss a key whose slot moves more than once
// during a single walk. After an error you may call Next again: it
// repeats the step. HSCAN, SSCAN and ZSCAN walk the key. Every walk starts again when
// another node, or another process of the same node, answers: see [redis.ScannerBase].
// CLUSTERSCAN follows its cursor: see [redis.Keys] for the differences.
func (c *Cluster) Scanner(opts redis.ScanOpts) redis.Scanner {
	if !c.opened() {
		return backend.Nobody.Scanner(opts)
	}
	base := redis.ScannerBase{ScanOpts: opts}
	if opts.Cmd != "" && !strings.EqualFold(opts.Cmd, "SCAN") {
		return &keyScanner{ScannerBase: base, c: c}
	}
	return &scanner{ScannerBase: base, c: c, coverage: topology.NewCoverage(&c.topology.Load().Layout)}
}

// scanMostIdle is the number of rounds in a row that may cover no slot before Next fails. The
// cluster reads the topology before each of them.
const scanMostIdle = 10

// scanner walks one master after the other until the coverage is complete.
type scanner struct {
	redis.ScannerBase
	c        *Cluster
	coverage *topology.Coverage

	node *route.Node // the walked node; nil between two walks
	slot int         // the slot for which the node is walked
	// before holds the node's slots at the start of the walk; nil if the node did not report them.
	before atomic.Pointer[topology.NodeSlots]
	idle   int // rounds since the last walk that has covered a slot
}

// Next implements redis.Scanner. It calls itself again when a node has reported
// its slots, and when the topology was read.
func (s *scanner) Next(cb redis.Future) {
	if cb != nil {
		if err := cb.Cancelled(); err != nil {
			s.fail(cb, err)
			return
		}
	}
	t := s.c.topology.Load()
	if s.node != nil && t.Find(s.node.Addr) != s.node {
		s.abandonWalk() // it is no longer a master, so its cursor is useless
	}
	switch {
	case s.c.draining.Load():
		s.fail(cb, s.c.errClosed())
		return
	case s.node == nil && !s.choose(t):
		s.nextRound(cb)
		return
	}
	switch l := s.node.Pick(s.c.opts.RoundRobinSeed, nil); {
	case l == nil:
		s.abandonWalk()
		s.c.refresher.force()
		s.fail(cb, s.c.errNoLink(routeSpec{Spec: route.Spec{Slot: s.slot}}))
	case s.IterLast():
		s.ask(l.Conn, func(h *topology.NodeSlots, err error) {
			if err != nil {
				s.fail(cb, err)
				return
			}
			t := s.c.topology.Load()
			if before := s.before.Load(); before != nil && s.coverage.Walked(&t.Layout, s.node.Addr, before, h) {
				s.idle = 0
			}
			s.node = nil
			s.Next(cb)
		})
	default:
		if s.Iter == nil { // before the first step: the node answers in order, so it reports its slots at the start
			s.ask(l.Conn, func(h *topology.NodeSlots, _ error) { s.before.Store(h) })
		}
		s.DoNext(uncovered{send.Forward{To: cb}, s}, l.Conn)
	}
}

// choose starts a walk of the next node, or returns false at the end of a round.
func (s *scanner) choose(t *route.Snapshot) bool {
	s.node, s.Iter = nil, nil
	if slot, addr := s.coverage.Target(&t.Layout); slot >= 0 {
		s.slot, s.node = slot, t.Find(addr)
	}
	s.before.Store(nil)
	return s.node != nil
}

// abandonWalk ends a walk that has covered nothing. The scanner will choose its slot again.
func (s *scanner) abandonWalk() {
	s.node = nil
	s.coverage.Abandon(s.slot)
}

// nextRound ends the scan, or starts another round after the topology was read.
func (s *scanner) nextRound(cb redis.Future) {
	if s.coverage.NewRound() {
		send.Resolve(cb, redis.ScanEOF, 0)
		return
	}
	if s.idle++; s.idle > scanMostIdle {
		s.idle = 0
		s.fail(cb, s.c.withCluster(ErrClusterSlots.New("scan: slots have no master, or not for long enough to be walked, or are moving to a node that has failed")))
		return
	}
	s.c.refresher.afterRefresh(func() {
		defer s.c.recovered()
		s.Next(cb)
	})
}

// ask asks the walked node for its slots, and calls done with these slots or with an error.
func (s *scanner) ask(conn *redisconn.Connection, done func(*topology.NodeSlots, error)) {
	n := s.node
	conn.Send(redis.Req("CLUSTER NODES"), send.Internal(func(res any, _ uint64) {
		nodes, err := redisclusterutil.ParseClusterNodes(res)
		switch failure := redis.AsErrorx(err); {
		case err == nil:
			done(topology.NodeSlotsOf(nodes), nil)
		case failure.IsOfType(redis.ErrResult): // the user may not ask, so the scanner uses the slots in the topology
			done(s.c.topology.Load().Layout.NodeSlots(n.Addr), nil)
		default:
			done(nil, err)
		}
	}), 0)
}

func (s *scanner) fail(cb redis.Future, err error) {
	s.Err = err
	send.Resolve(cb, err, 0)
}

// uncovered passes on those keys of a batch whose slots are not covered yet.
type uncovered struct {
	send.Forward
	s *scanner
}

// Resolve implements redis.Future.
func (u uncovered) Resolve(res any, _ uint64) {
	keys, ok := res.([]string)
	if !ok {
		u.s.fail(u.To, redis.AsError(res))
		return
	}
	left := keys[:0]
	for _, key := range keys {
		if u.s.coverage.Left(int(redisclusterutil.Slot(key))) {
			left = append(left, key)
		}
	}
	send.Resolve(u.To, left, 0)
}
