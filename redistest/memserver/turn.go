package memserver

import (
	"github.com/alicebob/miniredis/v2/server"
)

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
