package route

import (
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// Link is a connection of a node.
type Link struct {
	backend.Queue // of Conn, whose Withdraw is replaced

	Node  *Node
	Conn  *redisconn.Connection
	Inner backend.Conn // of Conn
	// state follows the connection's events, so that choosing a link takes no lock.
	state atomic.Int32
	// server is the run_id of the server process that the connection leads to. It is asked of
	// masters only, and only where there is no cluster; nil while it is not known.
	server atomic.Pointer[string]
	// failure is why the link is not connected, nil if it is, or has not failed yet.
	failure atomic.Pointer[Failure]
}

// Failure is why a node is not connected.
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

// NewLink returns a link of a node whose connection is about to be made.
func NewLink(n *Node) *Link {
	l := &Link{Node: n}
	l.state.Store(linkConnecting)
	return l
}

// Connect adds the link to its node, with its connection.
func (l *Link) Connect(conn *redisconn.Connection) {
	l.Conn, l.Inner = conn, backend.Of(conn)
	l.Queue = l.Inner.Queue()
	l.Node.Links = append(l.Node.Links, l)
}

// Up reports whether the link is connected.
func (l *Link) Up() bool { return l.state.Load() == linkUp }

// Connecting reports whether the link's connection is being made: requests wait for it.
func (l *Link) Connecting() bool { return l.state.Load() == linkConnecting }

// Note keeps the link's state up to date with its connection's events, which come one after
// the other. It reports whether the connection was lost, or can't be made.
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

// lost notes why the link is not connected.
func (l *Link) lost(why error) {
	l.state.Store(linkDown)
	l.failure.Store(&Failure{Addr: l.Node.Addr, Err: why, at: time.Now()})
	l.server.Store(nil)
	if l.Node.Replica {
		l.Node.sync.Store(syncNever)
	}
}

// TakeTicket puts the link into the ticket of a request, in place of the connection's queue. So
// the caller withdraws the request by the link, and the cluster can count that.
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

var _ backend.Queue = (*Link)(nil)

// Resent is the queue in the ticket of a request that the cluster may send again. The caller has
// this ticket from the first attempt on, and Resent answers for the last one: it tells package
// redis where the time of that attempt goes.
type Resent struct {
	ticket atomic.Pointer[send.Ticket]
}

// Queued says where the last attempt is.
func (s *Resent) Queued(t send.Ticket) { s.ticket.Store(&t) }

// Withdraw implements send.Withdrawer. What was sent again is not taken back.
func (*Resent) Withdraw(uint64) bool { return false }

// Delay tells package redis where the time of the last attempt has gone.
func (s *Resent) Delay(uint64) (redis.Delay, bool) {
	if t := s.ticket.Load(); t != nil {
		if queue, known := t.Queue.(backend.Queue); known {
			return queue.Delay(t.Seq)
		}
	}
	return redis.Delay{}, false
}
