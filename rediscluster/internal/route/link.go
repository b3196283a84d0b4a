package route

import (
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// Link is a connection to a node.
type Link struct {
	backend.Queue // the queue of Conn; Link replaces its Withdraw

	Node    *Node
	Conn    *redisconn.Connection
	Backend backend.Conn // the backend of Conn
	// state is updated by the connection's events, so that the choice of a link needs no lock.
	state atomic.Int32
	// server is the run_id of the server process that the connection leads to; nil while it is not
	// known. Only masters are asked for it, and only without a cluster.
	server atomic.Pointer[string]
	// failure says why the link is not connected; nil if it is connected or has not failed yet.
	failure atomic.Pointer[Failure]
	pulse   pulse
	stall
}

// Failure says when and why a connection to a node failed.
type Failure struct {
	Addr string
	Err  error
	at   time.Time
}

// States of a link.
const (
	linkDown       = iota
	linkConnecting // requests are accepted, and wait
	linkUp
)

// NewLink returns a link of a node whose connection is about to be opened.
func NewLink(n *Node) *Link {
	l := &Link{Node: n}
	l.chance.Store(newChance())
	l.state.Store(linkConnecting)
	return l
}

// Connect adds the link to its node, with its connection.
func (l *Link) Connect(conn *redisconn.Connection) {
	l.Conn, l.Backend = conn, backend.Of(conn)
	l.Queue = l.Backend.Queue()
	l.Node.Links = append(l.Node.Links, l)
}

// Up reports whether the link is connected.
func (l *Link) Up() bool { return l.state.Load() == linkUp }

// Connecting reports whether the link's connection is being opened. Requests wait for it.
func (l *Link) Connecting() bool { return l.state.Load() == linkConnecting }

// Note updates the link's state after an event of its connection. Events arrive one at a time. Note
// reports whether the connection was lost or could not be opened.
func (l *Link) Note(conn *redisconn.Connection, event redisconn.LogEvent) (lost bool) {
	switch e := event.(type) {
	case redisconn.LogConnecting:
		l.state.Store(linkConnecting)
		l.server.Store(nil)
	case redisconn.LogConnected:
		l.state.Store(linkUp)
		l.failure.Store(nil)
		l.askServer(conn)
		if l.Node.Replica {
			l.Node.askSync(conn)
		}
	case redisconn.LogConnectFailed:
		l.lost(e.Error)
		return true
	case redisconn.LogDisconnected:
		l.lost(e.Error)
		return true
	case redisconn.LogContextClosed:
		l.state.Store(linkDown)
	}
	return false
}

// lost records why the link is not connected.
func (l *Link) lost(why error) {
	l.state.Store(linkDown)
	l.failure.Store(&Failure{Addr: l.Node.Addr, Err: why, at: time.Now()})
	l.server.Store(nil)
	if l.Node.Replica {
		l.Node.sync.Store(syncNever)
	}
}

// TakeTicket puts the link into the ticket of a request, in place of the connection's queue. The
// caller then withdraws the request through the link, so that the cluster can count withdrawals.
func (l *Link) TakeTicket(r *send.Request) {
	if r.Ticket.Queue != nil {
		r.Ticket.Queue = l
	}
}

// Withdraw implements send.Withdrawer.
func (l *Link) Withdraw(seq uint64) bool {
	if !l.Queue.Withdraw(seq) {
		return false
	}
	l.Node.rules.Withdrawn()
	return true
}

var (
	_ backend.Queue = (*Link)(nil)
	_ send.Staller  = (*Link)(nil)
)

// Resent takes the place of the queue in the ticket of a request that was sent again. It tells package
// redis where the last attempt spends its time.
type Resent struct {
	ticket atomic.Pointer[send.Ticket]
}

// Queued records the ticket of the last attempt.
func (s *Resent) Queued(t send.Ticket) { s.ticket.Store(&t) }

// Withdraw implements send.Withdrawer. A retried request is not withdrawn.
func (*Resent) Withdraw(uint64) bool { return false }

// Delay returns where the last attempt has spent its time.
func (s *Resent) Delay(uint64) (redis.Delay, bool) {
	if t := s.ticket.Load(); t != nil {
		if queue, known := t.Queue.(backend.Queue); known {
			return queue.Delay(t.Seq)
		}
	}
	return redis.Delay{}, false
}
