package redisvirtual

import (
	"bufio"
	"cmp"
	"context"
	"net"

	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/wire"
)

// pass gives the client a socket of its own, for good, and sends the request there. What WATCH
// has said can't be said again. Write waits until that is done: what others do behind it comes
// after a SUBSCRIBE.
func (c *conn) pass(r *wire.Request) (done bool) {
	switch {
	case c.watching:
		c.answer(appendError(nil, "ERR "+r.Cmd+" can't follow WATCH on a virtual connection"))
		return true
	case !c.served:
		c.leaving = true
		return false
	}
	own, err := c.dial()
	if err != nil {
		f := newFlight(c)
		f.reply()
		c.push(f, false)
		f.Resolve(err, 0)
		c.sent(f)
		return true
	}
	c.mu.Lock()
	c.own, c.passing = own, true
	closed := c.closed
	_ = own.SetReadDeadline(c.readBy)
	_ = own.SetWriteDeadline(c.writeBy)
	c.wakeReader()
	c.mu.Unlock()
	if closed {
		_ = own.Close()
		return true
	}
	if _, err := own.Write(r.Buf); err != nil {
		c.broken(err)
	}
	return true
}

// dial dials a socket as the shared one was, and says on it what the client has said. Close, and
// the time that connecting may take, bound all of it.
func (c *conn) dial() (net.Conn, error) {
	dialer, err := c.to.dialer()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(c.context(), dialer.Timeout)
	defer cancel()
	greeted, failure := dialer.Open(ctx)
	if failure != nil {
		return nil, failure
	}
	own := greeted.Conn
	stop := context.AfterFunc(c.to.ctx, func() { _ = own.Close() })
	s := &socket{Conn: own, stop: stop}
	over := context.AfterFunc(ctx, func() { _ = own.Close() })
	if err := s.replay(c.history()); err != nil || !over() {
		_ = s.Close()
		return nil, cmp.Or(err, error(dial.ErrConnSetup.New("the handshake has not ended in time")))
	}
	return s, nil
}

// history is what the client has said of its connection, and the server of a new socket does not
// know.
func (c *conn) history() (out []byte, replies int) {
	say := func(words ...string) {
		out = appendWords(out, words)
		replies++
	}
	if c.protocol != c.to.protocol {
		say("HELLO", "2")
	}
	if c.name != "" {
		say("CLIENT", "SETNAME", c.name)
	}
	if c.readOnly {
		say("READONLY")
	}
	if c.asking {
		say("ASKING")
	}
	return out, replies
}

// socket is one of a client's own. It ends with the sender, too.
type socket struct {
	net.Conn
	stop func() bool
}

// replay says what was said before. That a server refuses it, as READONLY without a cluster, is
// no matter.
func (s *socket) replay(out []byte, replies int) error {
	if replies == 0 {
		return nil
	}
	if _, err := s.Write(out); err != nil {
		return dial.ErrConnSetup.Wrap(err, "writing the handshake")
	}
	d := resp.NewDecoder(bufio.NewReader(s.Conn), resp.Limits{})
	for range replies {
		if _, err := d.Decode(); err != nil {
			return dial.ErrConnSetup.Wrap(err, "reading the handshake")
		}
	}
	return nil
}

// Close implements net.Conn.
func (s *socket) Close() error {
	s.stop()
	return s.Conn.Close()
}
