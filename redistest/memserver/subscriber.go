package memserver

import "strings"

var subscribes = map[string]bool{"SUBSCRIBE": true, "PSUBSCRIBE": true, "UNSUBSCRIBE": true, "PUNSUBSCRIBE": true}

// subscribe passes the peer itself to miniredis, which sends messages to it.
func (s *Server) subscribe(c *conn, cmd string, args []string) string {
	if c.peer.Ctx == nil {
		c.peer.Ctx = fork(c.ctx)
	}
	c.subscribing = true
	s.srv.Dispatch(c.peer, append([]string{cmd}, args...))
	c.subscribing = false
	return ""
}

// subscribed reports whether the connection may only send commands of pub/sub.
func (s *Server) subscribed(c *conn) bool {
	return !c.peer.Resp3 && c.peer.Ctx != nil && strings.HasPrefix(s.ask(&c.peer.Ctx, "ECHO", ""), "-ERR Can't execute")
}
