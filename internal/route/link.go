package route

import (
	"sync/atomic"

	"github.com/joomcode/redispipe/internal/inner"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redisconn"
)

// Link is a connection of a node.
type Link struct {
	Node  *Node
	Conn  *redisconn.Connection
	Inner inner.Conn // of Conn
	// state follows the connection's events, so that choosing a link takes no lock.
	state atomic.Int32
	// server is the id of the run of the server that a connection to a master leads to,
	// without a cluster; nil while it is not known.
	server atomic.Pointer[string]
	// queue is the connection's, once it has queued something.
	queue atomic.Pointer[wire.Ticket]
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
	l.Conn, l.Inner = conn, inner.Of(conn)
	l.Node.Links = append(l.Node.Links, l)
}

// Up reports whether the link is connected.
func (l *Link) Up() bool { return l.state.Load() == linkUp }

// Connecting reports whether the link's connection is being made: requests wait for it.
func (l *Link) Connecting() bool { return l.state.Load() == linkConnecting }

// Note keeps the link's state up to date with its connection's events, which come one after
// the other. It reports whether the connection was lost, or can't be made.
func (l *Link) Note(conn *redisconn.Connection, event redisconn.LogEvent) (lost bool) {
	switch event.(type) {
	case redisconn.LogConnecting:
		l.state.Store(linkConnecting)
		l.server.Store(nil)
	case redisconn.LogConnected:
		l.state.Store(linkUp)
		l.askServer(conn)
		if l.Node.Replica {
			l.Node.askSync(conn, nil)
		}
	case redisconn.LogConnectFailed, redisconn.LogDisconnected:
		l.state.Store(linkDown)
		if l.Node.Replica {
			l.Node.sync.Store(syncNever)
		}
		return true
	case redisconn.LogContextClosed:
		l.state.Store(linkDown)
	}
	return false
}
