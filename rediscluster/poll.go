package rediscluster

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/topology"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
	"github.com/joomcode/redispipe/redisconn"
)

// askAtMost bounds how many nodes are asked at once. Most clusters are asked in
// whole: only the two masters of a migration know of it.
const askAtMost = 16

// poll is one round of asking nodes for the topology.
type poll struct {
	asked []*link
	// answers gets one for each of the asked, extra counts what else is asked.
	answers chan answer
	extra   chan struct{}
	extras  int

	mu         sync.Mutex // guards masterOnly
	masterOnly map[uint16]struct{}
}

// answer is that of one node.
type answer struct {
	conn *redisconn.Connection
	view topology.View
	err  error
}

func newPoll() *poll {
	// Room for all, so that answers which come too late hold nobody.
	return &poll{answers: make(chan answer, askAtMost), extra: make(chan struct{}, 1<<10)}
}

// ask asks a node for the topology.
func (p *poll) ask(l *link) {
	p.asked = append(p.asked, l)
	askView(l.conn, l.node.addr, p.answers)
}

// askView asks one server; the answer goes to answers.
func askView(conn *redisconn.Connection, addr string, answers chan<- answer) {
	var results [2]any
	var left atomic.Int32
	left.Store(int32(len(results)))
	conn.SendBatch([]redis.Request{redis.Req("CLUSTER SLOTS"), redis.Req("CLUSTER NODES")},
		wire.Own(func(res any, n uint64) {
			results[n] = res
			if left.Add(-1) > 0 {
				return
			}
			v, err := topology.ParseView(addr, results[0], results[1])
			answers <- answer{conn: conn, view: v, err: err}
		}), 0)
}

// askMasterOnly asks for the slots that are read from masters only.
func (p *poll) askMasterOnly(n *node) {
	l := n.pick(n.c.opts.RoundRobinSeed, nil)
	if l == nil {
		return
	}
	p.askExtra(func(done func()) {
		l.conn.Send(redis.Req("SMEMBERS", redisclusterutil.MasterOnlyKey), wire.Own(func(res any, _ uint64) {
			if slots, _, err := redisclusterutil.ParseMasterOnly(res); err == nil {
				p.mu.Lock()
				p.masterOnly = slots
				p.mu.Unlock()
			}
			done()
		}), 0)
	})
}

// askExtra counts what is asked in addition to the topology.
func (p *poll) askExtra(ask func(done func())) {
	if p.extras == cap(p.extra) {
		return
	}
	p.extras++
	ask(func() { p.extra <- struct{}{} })
}

// await returns the views of those that answer: all of them, or those that do
// so within a grace after the first.
func (p *poll) await(c *Cluster) (views []topology.View) {
	late := time.NewTimer(c.askTimeout())
	defer late.Stop()
	for answered, extras := 0, 0; answered < len(p.asked) || extras < p.extras; {
		select {
		case a := <-p.answers:
			answered++
			if a.err != nil {
				c.report(LogClusterSlotsError{Conn: a.conn, Error: a.err})
				continue
			}
			if len(views) == 0 {
				late.Reset(askGrace)
			}
			views = append(views, a.view)
		case <-p.extra:
			extras++
		case <-late.C:
			return views
		case <-c.ctx.Done():
			return nil
		}
	}
	return views
}

// masterOnlySlots returns the slots, if they were told.
func (p *poll) masterOnlySlots() (map[uint16]struct{}, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.masterOnly, p.masterOnly != nil
}

// askNodes asks connected nodes what they think, those that answer in time.
func (s *nodeSource) askNodes() []topology.View {
	t := s.c.topology.Load()
	nodes := slices.Clone(t.nodes)
	rand.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	// Masters know their own slots best, and first.
	slices.SortStableFunc(nodes, func(a, b *node) int { return boolToInt(a.replica) - boolToInt(b.replica) })
	p := newPoll()
	for _, n := range nodes {
		if l := n.pick(s.c.opts.RoundRobinSeed, nil); l != nil && len(p.asked) < askAtMost {
			p.ask(l)
		}
		if l := n.upLink(); n.replica && l != nil {
			p.askExtra(func(done func()) { n.askSync(l.conn, done) })
		}
	}
	if sh := t.shard(int(redisclusterutil.Slot(redisclusterutil.MasterOnlyKey))); sh != nil {
		p.askMasterOnly(sh.master)
	}
	views := p.await(s.c)
	if slots, ok := p.masterOnlySlots(); ok {
		s.masterOnly = slots
	}
	return views
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
