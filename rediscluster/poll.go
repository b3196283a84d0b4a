package rediscluster

import (
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/route"
	"github.com/joomcode/redispipe/internal/topology"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// askAtMost bounds how many nodes are asked at once. Most clusters are asked in
// whole: only the two masters of a migration know of it.
const askAtMost = 16

// poll is one round of asking nodes for the topology.
type poll struct {
	asked int // nodes
	// answers gets one for each of the asked, extra counts what else is asked.
	answers chan answer
	extra   chan struct{}
	extras  int
}

// answer is that of one node.
type answer struct {
	conn *redisconn.Connection
	view topology.View
	err  error
	// more is the answer to what was asked beside the topology.
	more any
}

func newPoll() *poll {
	// Room for all, so that answers which come too late hold nobody.
	return &poll{answers: make(chan answer, askAtMost)}
}

// ask asks a node for the topology, and perhaps for one thing more.
func (p *poll) ask(l *route.Link, more ...redis.Request) {
	p.asked++
	askView(l.Conn, l.Node.Addr, p.answers, more...)
}

// askView asks one server; the answer goes to answers.
func askView(conn *redisconn.Connection, addr string, answers chan<- answer, more ...redis.Request) {
	var results [3]any
	var left atomic.Int32
	reqs := append([]redis.Request{redis.Req("CLUSTER SLOTS"), redis.Req("CLUSTER NODES")}, more...)
	left.Store(int32(len(reqs)))
	conn.SendBatch(reqs, wire.Own(func(res any, n uint64) {
		results[n] = res
		if left.Add(-1) > 0 {
			return
		}
		v, err := topology.ParseView(addr, results[0], results[1])
		answers <- answer{conn: conn, view: v, err: err, more: results[2]}
	}), 0)
}

// await returns the views of those that answer: all of them, or those that do
// so within a grace after the first. hear gets what one of them answers more.
func (p *poll) await(c *Cluster, hear func(more any)) (views []topology.View) {
	late := time.NewTimer(c.askTimeout())
	defer late.Stop()
	for answered, extras := 0, 0; answered < p.asked || extras < p.extras; {
		select {
		case a := <-p.answers:
			answered++
			if a.more != nil {
				hear(a.more)
			}
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
