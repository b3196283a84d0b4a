package redisvirtual

import (
	"cmp"
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"sync"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisvirtual/internal/proto"
)

// errProtocol: over several servers, and with a prefix, a client must use the protocol of the shared sockets.
var errProtocol = redis.ErrOpts.NewType("virtual_protocol", redis.ErrTraitNotSent)

// translated handles a request of a client that uses another protocol than the shared sockets. Only a server
// can translate replies, so the client gets a separate socket. With several servers the request fails,
// because a socket leads to only one master, and with a prefix, because nothing would add it there.
func (c *conn) translated(r *send.Request) (done bool) {
	if (c.to.Several || c.to.Prefix != "") && !c.watching {
		c.lose(errProtocol.New("the client speaks RESP%d, and the shared connections RESP%d. Over several servers, or with a prefix, both must be equal: "+
			"let the client send HELLO %[2]d, or leave Protocol unset in redisconn.Opts or HostOpts", c.protocol, c.to.Protocol))
		return true
	}
	return c.pass(r)
}

// pass gives the client a separate socket, and sends the request and all further data there. After WATCH it
// refuses the request, because it can't move the WATCH to the socket.
func (c *conn) pass(r *send.Request) (done bool) {
	return c.leave(r, c.dial, r.Buf)
}

// passAs is pass for an AUTH or HELLO that names another user than the shared connection's.
func (c *conn) passAs(name string, r *send.Request) (done bool) {
	c.nobody = c.nobody || c.to.Prefix != "" // as if the server had refused the user, because leave refuses the socket
	return c.leave(r, func() (net.Conn, error) { return c.dialAs(name, r) }, nil)
}

// leave moves the client to the socket that open returns, and writes out there. If open returns no socket,
// or if the sender has a prefix, the client stays. Write waits until leave is done, so that a message that is
// published after the Write of a SUBSCRIBE arrives.
func (c *conn) leave(r *send.Request, open func() (net.Conn, error), out []byte) (done bool) {
	switch {
	case c.to.Prefix != "":
		c.answer(proto.AppendError(nil, "ERR "+r.Cmd+" needs a socket of its own, to which nothing adds the prefix of redis.WithPrefix: use a client without the prefix"))
		return true
	case c.watching:
		c.answer(proto.AppendError(nil, "ERR "+r.Cmd+" can't follow WATCH on a virtual connection"))
		return true
	case !c.served:
		c.leaving = true
		return false
	}
	own, err := open()
	switch {
	case err != nil:
		c.lose(err)
		return true
	case own == nil:
		return true
	}
	c.own = own
	c.stream.Continue(own)
	if len(out) > 0 {
		_, err = own.Write(out)
		c.broken(err)
	}
	return true
}

// lose ends the virtual connection with an error, after the requests in flight.
func (c *conn) lose(err error) {
	f := c.stream.NewFlight()
	f.AddReply()
	if f.Push() {
		f.End(0, err)
	}
}

// dial dials a socket like the shared one, and sends the client's settings on it.
func (c *conn) dial() (net.Conn, error) {
	open := func(d *dial.Dialer, ctx context.Context) (*dial.Socket, *errorx.Error) { return d.Open(ctx) }
	return c.open(open, func(s *socket) error {
		_, err := s.exchange(c.history(""))
		return err
	})
}

// dialAs dials a socket for the user that r, an AUTH or HELLO, names, and answers r. It does not send the
// credentials of the shared connection there. If the server refuses the user, dialAs returns no socket, and
// sets c.nobody.
func (c *conn) dialAs(name string, r *send.Request) (net.Conn, error) {
	var answer []byte
	own, err := c.open((*dial.Dialer).OpenSilent, func(s *socket) (err error) {
		if answer, err = s.exchange(r.Buf, 1); err == nil && answer[0] != '-' {
			_, err = s.exchange(c.history(name))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	c.answer(answer)
	if c.nobody = answer[0] == '-'; c.nobody {
		_ = own.Close()
		return nil, nil
	}
	return own, nil
}

// open opens a socket with the function open, and calls greet to send the client's settings on it. It gives
// up when the connection is closed or DialTimeout has passed.
func (c *conn) open(open func(*dial.Dialer, context.Context) (*dial.Socket, *errorx.Error), greet func(*socket) error) (net.Conn, error) {
	node, err := c.to.Node()
	if err != nil {
		return nil, err
	}
	dialer := node.Dialer()
	ctx, cancel := context.WithTimeout(c.stream.Context(), dialer.Timeout)
	defer cancel()
	opened, failure := open(dialer, ctx)
	if failure != nil {
		return nil, failure
	}
	own := opened.Conn
	s := &socket{
		Conn: own, dec: opened.Dec, ctx: c.to.Ctx, node: node, requests: proto.Frames{Requests: true},
		stop: context.AfterFunc(c.to.Ctx, func() { _ = own.Close() }),
	}
	over := context.AfterFunc(ctx, func() { _ = own.Close() })
	if err := greet(s); err != nil || !over() {
		_ = s.Close()
		return nil, cmp.Or(err, error(dial.ErrConnSetup.New("the handshake has not ended in time")))
	}
	return s, nil
}

// history returns the requests that give a new socket the client's settings, and the number of their
// replies. greeted is the request (AUTH or HELLO) that was already sent on the socket, or "".
func (c *conn) history(greeted string) (out []byte, replies int) {
	say := func(words ...string) {
		out = proto.AppendWords(out, words)
		replies++
	}
	spoken := c.to.Protocol
	if greeted == "AUTH" {
		spoken = 2
	}
	if c.protocol != spoken && greeted != "HELLO" {
		say("HELLO", strconv.Itoa(c.protocol))
	}
	if greeted != "" && c.to.DB != 0 {
		say("SELECT", strconv.Itoa(c.to.DB))
	}
	if c.name != "" {
		say("CLIENT", "SETNAME", c.name)
	}
	switch {
	case c.readOnly:
		say("READONLY")
	case c.wantsMaster():
		say("READWRITE")
	}
	if c.asking {
		say("ASKING")
	}
	return out, replies
}

// socket is a separate socket of a client. It ends with the sender at the latest. While it has passed on
// fewer replies than requests, or a request only in part, it awaits an answer, and Shutdown waits for it.
// A push or message counts as a reply, because servers answer SUBSCRIBE with them.
type socket struct {
	net.Conn
	dec  *resp.Decoder   // reads the replies to the handshake, before the client reads
	stop func() bool     // stops the function that closes the socket with the sender
	ctx  context.Context // the context of the sender
	node backend.Conn

	mu       sync.Mutex // guards the fields below; Running.mu is taken under it
	requests proto.Frames
	replies  proto.Frames
	open     int  // the number of requests without a reply
	awaits   bool // node.Beside counts the socket as awaiting an answer
}

// Write implements net.Conn.
func (s *socket) Write(p []byte) (int, error) {
	if !s.begin(p) {
		return 0, sock.Refused(s.ctx)
	}
	n, err := s.Conn.Write(p)
	if failed(err) {
		s.ended()
	}
	return n, err
}

// Read implements net.Conn.
func (s *socket) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	s.answered(p[:n])
	if failed(err) {
		s.ended()
	}
	return n, err
}

// failed reports whether an error is the end of a socket.
func failed(err error) bool { return err != nil && !errors.Is(err, os.ErrDeadlineExceeded) }

// begin counts the requests in p, which is about to be written. It returns false if the sender is shutting
// down and accepts no new request.
func (s *socket) begin(p []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open += s.requests.Count(p)
	if !s.awaits && !s.settledLocked() {
		s.awaits = s.node.Beside().Begin()
		return s.awaits
	}
	return true
}

// answered counts the replies in p, which was read.
func (s *socket) answered(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = max(s.open-s.replies.Count(p), 0)
	if s.settledLocked() {
		s.endLocked()
	}
}

// settledLocked reports whether all requests are answered.
func (s *socket) settledLocked() bool { return s.open == 0 && s.requests.Complete() }

// ended records that no more answers will arrive.
func (s *socket) ended() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked()
}

func (s *socket) endLocked() {
	if s.awaits {
		s.awaits = false
		s.node.Beside().End()
	}
}

// exchange sends requests, and returns the replies. An error reply is no error: a server may refuse one of
// the requests, such as READONLY without a cluster.
func (s *socket) exchange(out []byte, replies int) (frames []byte, err error) {
	if replies == 0 {
		return nil, nil
	}
	if _, err := s.Conn.Write(out); err != nil {
		return nil, dial.ErrConnSetup.Wrap(err, "writing the handshake")
	}
	for range replies {
		if frames, _, err = s.dec.AppendFrame(frames); err != nil {
			return nil, dial.ErrConnSetup.Wrap(err, "reading the handshake")
		}
	}
	return frames, nil
}

// Close implements net.Conn.
func (s *socket) Close() error {
	s.stop()
	defer s.ended()
	return s.Conn.Close()
}
