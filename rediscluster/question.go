package rediscluster

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
	"github.com/joomcode/redispipe/redisconn"
)

// question is one round of asking nodes for the topology.
type question struct {
	asked []*link
	// answers gets one for each of the asked, other counts what is asked beside.
	answers chan answer
	other   chan struct{}
	others  int

	mu         sync.Mutex // guards masterOnly
	masterOnly map[uint16]struct{}
}

// answer is that of one node.
type answer struct {
	conn *redisconn.Connection
	view view
	err  error
}

func newQuestion() *question {
	// Room for all, so that answers which come too late hold nobody.
	return &question{answers: make(chan answer, askAtMost), other: make(chan struct{}, 1<<10)}
}

// ask sends the question to a node.
func (q *question) ask(l *link) {
	q.asked = append(q.asked, l)
	askView(l.conn, l.node.addr, q.answers)
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
			ranges, err := redisclusterutil.ParseSlotsInfo(results[0])
			// A user may have no right to CLUSTER NODES: one can do without.
			nodes, _ := redisclusterutil.ParseClusterNodes(results[1])
			answers <- answer{conn: conn, view: view{asked: addr, ranges: ranges, nodes: nodes}, err: err}
		}), 0)
}

// askSync has a replica tell how its replication goes.
func (q *question) askSync(n *node) {
	for _, l := range n.links {
		if l.state.Load() == linkUp {
			q.beside(func(done func()) { n.askSync(l.conn, done) })
			return
		}
	}
}

// askMasterOnly asks for the slots that are read from masters only.
func (q *question) askMasterOnly(n *node) {
	l := n.pick(n.c.opts.RoundRobinSeed, nil)
	if l == nil {
		return
	}
	q.beside(func(done func()) {
		l.conn.Send(redis.Req("SMEMBERS", redisclusterutil.MasterOnlyKey), wire.Own(func(res any, _ uint64) {
			if slots, _, err := redisclusterutil.ParseMasterOnly(res); err == nil {
				q.mu.Lock()
				q.masterOnly = slots
				q.mu.Unlock()
			}
			done()
		}), 0)
	})
}

// beside counts what is asked beside the topology.
func (q *question) beside(ask func(done func())) {
	if q.others == cap(q.other) {
		return
	}
	q.others++
	ask(func() { q.other <- struct{}{} })
}

// await returns the views of those that answer: all of them, or those that do
// so within a grace after the first.
func (q *question) await(c *Cluster) (views []view) {
	late := time.NewTimer(c.askTimeout())
	defer late.Stop()
	for answered, others := 0, 0; answered < len(q.asked) || others < q.others; {
		select {
		case a := <-q.answers:
			answered++
			if a.err != nil {
				c.report(LogClusterSlotsError{Conn: a.conn, Error: a.err})
				continue
			}
			if len(views) == 0 {
				late.Reset(askGrace)
			}
			views = append(views, a.view)
		case <-q.other:
			others++
		case <-late.C:
			return views
		case <-c.ctx.Done():
			return nil
		}
	}
	return views
}

// masterOnlySlots returns the slots, if they were told.
func (q *question) masterOnlySlots() (map[uint16]struct{}, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.masterOnly, q.masterOnly != nil
}
