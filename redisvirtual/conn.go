package redisvirtual

import (
	"net"
	"sync"
	"time"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redisvirtual/internal/proto"
	"github.com/joomcode/redispipe/redisvirtual/internal/replies"
	"github.com/joomcode/redispipe/redisvirtual/internal/upstream"
)

// conn is a virtual connection. It has no goroutine, but for serve while that runs.
type conn struct {
	to     *upstream.Servers
	stream replies.Stream // what the client reads; it has a mutex of its own, which may be locked under mu

	// writing is held by Write. What follows is the writer's: that of Write, or serve's while
	// serving is set.
	writing  sync.Mutex
	scan     proto.Scan
	batch    *replies.Flight // requests that are not sent yet
	state                    // what the client has said of its connection
	served   bool            // serve is the writer, and nothing is unanswered
	watching bool            // session is not nil
	leaving  bool            // the next request gives the client a socket
	own      net.Conn        // what everything goes through from here on; the stream closes it

	mu      sync.Mutex // guards the rest
	in      []byte     // what is written, and not sent; who is the writer sets it, and may look
	serving bool       // serve runs
	session send.Dedicated
}

// state is what a client has said of its connection.
type state struct {
	protocol int
	name     string
	readOnly bool
	nobody   bool         // the server has refused the client's credentials, and has accepted none since
	asking   bool         // for the next request, or the transaction that begins with it
	tx       *transaction // between MULTI and EXEC
	quit     bool
	// sendFailed is why a Write fails, if it does.
	sendFailed error
}

// wantsMaster reports whether the server is a replica whose shared socket would answer reads of
// this client, which has not said READONLY. On a socket of its own the client gets MOVED.
func (c *conn) wantsMaster() bool { return c.to.ReadOnly && !c.readOnly }

func newConn(to *upstream.Servers) *conn {
	c := &conn{to: to, state: state{protocol: 2}}
	c.stream.Init(&to.Terms)
	return c
}

var _ net.Conn = (*conn)(nil)

// Close implements net.Conn. What is not sent is not sent any more, and what blocks is unblocked.
func (c *conn) Close() error {
	err := c.stream.Close()
	c.mu.Lock()
	session := send.Dedicated(nil)
	if !c.serving {
		session, c.session = c.session, nil
	}
	c.mu.Unlock()
	if session != nil {
		session.Release()
	}
	return err
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) { return c.stream.Read(p) }

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error { return c.stream.SetDeadline(t) }

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error { return c.stream.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn. A Write waits for room in a full queue, and for a socket of
// the client's own. Behind a deadline that passes meanwhile the connection is closed.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.stream.SetWriteDeadline(t) }

// LocalAddr implements net.Conn: it is that of the socket.
func (c *conn) LocalAddr() net.Addr {
	local, _ := c.to.Addrs()
	return local
}

// RemoteAddr implements net.Conn: it is that of the socket.
func (c *conn) RemoteAddr() net.Addr {
	_, remote := c.to.Addrs()
	return remote
}
