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

// conn is a virtual connection. It has no goroutine, except while serve runs.
type conn struct {
	to     *upstream.Servers
	stream replies.Stream // the replies for the client; its mutex may be locked while mu is held

	// writing is held by Write. The fields below belong to the writer, which is Write or, while
	// serving is set, serve.
	writing  sync.Mutex
	scan     proto.Scan
	batch    *replies.Flight // requests that are not sent yet
	state                    // the settings of the client's connection
	served   bool            // serve is the writer, and all earlier requests are answered
	watching bool            // session is not nil
	leaving  bool            // the next request needs a separate socket for the client
	own      net.Conn        // the client's separate socket: all further data goes there; the stream closes it

	mu      sync.Mutex    // guards the fields below
	in      []byte        // data that was written and not sent; the writer sets it, and may read it without mu
	serving bool          // serve runs
	taken   chan struct{} // closed when serve takes data from in; nil if no Write waits for that
	session send.Dedicated
}

// state is the settings of a client's connection.
type state struct {
	protocol int
	name     string
	readOnly bool
	nobody   bool         // the server has refused the client's credentials, and has accepted none since then
	asking   bool         // ASKING applies to the next request, or to the transaction that starts with it
	tx       *transaction // the transaction between MULTI and EXEC; otherwise nil
	quit     bool         // the client has sent QUIT
	// sendFailed is the first error of sending, which Write returns.
	sendFailed error
}

// wantsMaster reports whether the shared socket leads to a replica and has sent READONLY, but this client
// has not. On a separate socket the client's reads get MOVED, as it expects.
func (c *conn) wantsMaster() bool { return c.to.ReadOnly && !c.readOnly }

func newConn(to *upstream.Servers) *conn {
	c := &conn{to: to, state: state{protocol: 2}}
	c.stream.Init(&to.Terms)
	return c
}

var _ net.Conn = (*conn)(nil)

// Close implements net.Conn. It withdraws requests that were not sent, and unblocks a blocking command.
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

// SetWriteDeadline implements net.Conn. A Write waits for room in a full queue, while 1 MiB waits behind a
// request that blocks, and for the dialing of a socket of the client's own. If the deadline passes during
// such a wait, the connection is closed.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.stream.SetWriteDeadline(t) }

// LocalAddr implements net.Conn. It returns the address of the shared socket.
func (c *conn) LocalAddr() net.Addr {
	local, _ := c.to.Addrs()
	return local
}

// RemoteAddr implements net.Conn. It returns the address of the shared socket.
func (c *conn) RemoteAddr() net.Addr {
	_, remote := c.to.Addrs()
	return remote
}
