package memserver

import (
	"bufio"
	"bytes"
	"reflect"
	"sync"

	"github.com/alicebob/miniredis/v2/server"
)

// conn is the state of a client's connection. Only the goroutine that holds Server.turn uses it.
type conn struct {
	peer *server.Peer
	// writing is held from before a command is answered until its reply is written, except while the command waits,
	// and while messages are written. A client that does not read holds up nobody else, because nobody
	// takes writing during a turn. Take it before Server.turn.
	writing sync.Mutex
	// ctx is miniredis's state for all commands except those that subscribe.
	ctx        any
	queue      *queue      // not nil between MULTI and EXEC
	watched    []string    // keys, until EXEC, DISCARD or UNWATCH
	subscriber *subscriber // nil before a command that subscribes
}

// closed reports whether the client has closed the connection. While messages are written to the client, it returns
// false: miniredis would let peer.Closed wait, under Server.turn, until the client reads them.
func (c *conn) closed() bool {
	if !c.writing.TryLock() {
		return false
	}
	defer c.writing.Unlock()
	return c.peer.Closed()
}

// hook answers commands before miniredis gets them. It returns true if it has answered. It answers
// one command at a time, like a real server. A blocking command releases Server.turn while it
// waits.
func (s *Server) hook(p *server.Peer, cmd string, args ...string) bool {
	if p.ClientName == innerName {
		return false
	}
	s.connsMu.Lock()
	c := s.conns[p]
	s.connsMu.Unlock()
	if c == nil && p.Ctx != nil { // a script, whose EVAL holds the turn, has called the command
		c := &call{s: s, reply: reply{Peer: p}, cmd: cmd, args: args, once: true}
		s.warn(c)
		return c.mend()
	}
	if c == nil {
		c = s.join(p)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	p.WriteRaw(s.takeTurn(c, cmd, args))
	return true
}

// takeTurn returns the reply to a command of a client.
func (s *Server) takeTurn(c *conn, cmd string, args []string) (reply string) {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.tick()
	if s.refusal != "" {
		out := newReply(nil, false)
		out.WriteError(s.refusal)
		return out.text()
	}
	if s.tracking == nil || !s.tracking.answer(c, cmd, args...) {
		reply = s.answer(c, cmd, args)
	}
	s.serve()
	return reply
}

// join returns the state of a new connection.
func (s *Server) join(p *server.Peer) *conn {
	c := &conn{peer: p}
	s.turn.Lock()
	s.ask(&c.ctx, "ECHO", "")
	s.turn.Unlock()
	s.connsMu.Lock()
	s.conns[p] = c
	s.connsMu.Unlock()
	p.OnDisconnect(func() {
		s.connsMu.Lock()
		delete(s.conns, p)
		s.connsMu.Unlock()
	})
	return c
}

// answer returns the reply to a command of a client.
func (s *Server) answer(c *conn, cmd string, args []string) string {
	if reply, done := s.transact(c, cmd, args); done {
		return reply
	}
	return s.do(c, cmd, args, false)
}

// do is answer for a command outside of transactions. If once is set, the command does not block.
func (s *Server) do(c *conn, cmd string, args []string, once bool) string {
	out := newReply(c.ctx, c.peer.Resp3)
	call := &call{s: s, conn: c, reply: out, cmd: cmd, args: args, once: once}
	s.warn(call)
	if subscribes[cmd] {
		return s.subscribe(c, cmd, args)
	}
	if s.subscribed(c) {
		out.Ctx = c.subscriber.Ctx
	}
	if !call.mend() {
		call.pass(cmd, args...)
	}
	if out.Resp3 != c.peer.Resp3 { // the command was HELLO
		c.peer.Resp3 = out.Resp3
		if c.subscriber != nil {
			c.subscriber.speak(out.Resp3)
		}
	}
	if out.Closed() { // the command was QUIT
		c.peer.Close()
	}
	return out.text()
}

// innerName is the client name of a peer whose commands go to miniredis unchanged.
const innerName = "\x00memserver"

// reply is a peer that collects the reply.
type reply struct {
	*server.Peer
	buf *bytes.Buffer // nil if a script reads the reply
}

func newReply(ctx any, resp3 bool) reply {
	buf := new(bytes.Buffer)
	p := server.NewPeer(bufio.NewWriter(buf))
	p.ClientName, p.Ctx, p.Resp3 = innerName, ctx, resp3
	return reply{p, buf}
}

func (r reply) text() string {
	r.Flush()
	return r.buf.String()
}

// call is the command that the server is answering.
type call struct {
	s    *Server
	conn *conn // nil if a script has called the command
	reply
	cmd  string // in upper case
	args []string
	once bool // the command must not block
}

// pass leaves the answer to miniredis.
func (c *call) pass(cmd string, args ...string) {
	name := c.ClientName
	c.ClientName = innerName
	c.s.srv.Dispatch(c.Peer, append([]string{cmd}, args...))
	c.ClientName = name
}

// ask returns miniredis's reply as a value, or an error.
func (c *call) ask(cmd string, args ...string) (any, error) {
	return parse(c.s.ask(&c.Ctx, cmd, args...))
}

// also runs another command and drops its reply.
func (c *call) also(cmd string, args ...string) { c.s.ask(&c.Ctx, cmd, args...) }

func parse(reply string) (any, error) {
	return server.ParseReply(bufio.NewReader(bytes.NewReader([]byte(reply))))
}

// ask returns the reply of miniredis, in RESP2, to a connection with the state ctx.
func (s *Server) ask(ctx *any, cmd string, args ...string) string {
	out := newReply(*ctx, false)
	s.srv.Dispatch(out.Peer, append([]string{cmd}, args...))
	*ctx = out.Ctx
	return out.text()
}

// fork returns a copy of a connection's state.
func fork(ctx any) any {
	v := reflect.New(reflect.TypeOf(ctx).Elem())
	v.Elem().Set(reflect.ValueOf(ctx).Elem())
	return v.Interface()
}
