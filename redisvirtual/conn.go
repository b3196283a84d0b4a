package redisvirtual

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/incoming"
	"github.com/joomcode/redispipe/internal/wire"
)

// conn is a virtual connection. It has no goroutine, but for serve while that runs.
type conn struct {
	to *servers

	// writing is held by Write. What follows is the writer's: that of Write, or serve's while
	// serving is set.
	writing  sync.Mutex
	scan     incoming.Scan
	batch    *flight // requests that are not sent yet
	state            // what the client has said of its connection
	served   bool    // serve is the writer, and nothing is unanswered
	watching bool    // session is not nil
	leaving  bool    // the next request gives the client a socket
	passing  bool    // own is not nil

	mu      sync.Mutex // guards the rest
	in      []byte     // what is written, and not sent; who is the writer sets it, and may look
	serving bool       // serve runs
	session wire.Dedicated
	own     net.Conn // what everything goes through from here on
	ctx     context.Context
	cancel  context.CancelFunc

	head, tail *flight // what is not read, in order
	unresolved int     // replies that are to come
	settling   chan struct{}
	failed     *errorx.Error // there is a reply that does not come
	// ran: of what was written since all was read, something was answered or may have run.
	ran    bool
	ended  bool // behind the replies is the end
	closed bool

	readers         int // that wait for wake
	wake            chan struct{}
	readBy, writeBy time.Time
	alarm           *time.Timer
	alarmed         time.Time // when alarm rings, zero if it is not set
}

func newConn(to *servers) *conn {
	return &conn{to: to, state: state{protocol: 2}, wake: make(chan struct{}, 1)}
}

var _ net.Conn = (*conn)(nil)

// Close implements net.Conn. What is not sent is not sent any more, and what blocks is unblocked.
func (c *conn) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return net.ErrClosed
	}
	c.closed = true
	c.settled()
	if c.alarm != nil {
		c.alarm.Stop()
	}
	own, cancel, session := c.own, c.cancel, wire.Dedicated(nil)
	if !c.serving {
		session, c.session = c.session, nil
	}
	c.head, c.tail = nil, nil
	c.wakeReader()
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	if session != nil {
		session.Release()
	}
	if own != nil {
		return own.Close()
	}
	return nil
}

// context returns a context that Close ends.
func (c *conn) context() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx == nil {
		c.ctx, c.cancel = context.WithCancel(context.Background())
		if c.closed {
			c.cancel()
		}
	}
	return c.ctx
}

// gone returns an error if nobody waits for replies any more.
func (c *conn) gone() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	return nil
}

// LocalAddr implements net.Conn: it is that of the socket.
func (c *conn) LocalAddr() net.Addr {
	local, _ := c.to.address()
	return local
}

// RemoteAddr implements net.Conn: it is that of the socket.
func (c *conn) RemoteAddr() net.Addr {
	_, remote := c.to.address()
	return remote
}
