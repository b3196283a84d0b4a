package memserver

import (
	"fmt"
	"strings"
)

// transact answers MULTI, EXEC, and all commands between them. For other commands it returns false.
func (s *Server) transact(c *conn, cmd string, args []string) (reply string, done bool) {
	switch {
	case c.queue == nil && cmd == "MULTI":
		if reply = s.ask(&c.ctx, cmd, args...); reply == "+OK\r\n" {
			c.queue = &queue{}
		}
	case c.queue == nil || cmd == "QUIT":
		return "", false
	case cmd == "EXEC" && len(args) == 0:
		return s.exec(c), true
	case cmd == "DISCARD" && len(args) == 0:
		c.queue, c.watched = nil, nil
		return s.ask(&c.ctx, cmd), true
	case cmd == "MULTI", cmd == "WATCH":
		s.differs("nested", cmd)
		return s.ask(&c.ctx, cmd, args...), true // miniredis refuses the command
	default:
		reply = "+QUEUED\r\n"
		ctx := fork(c.ctx)
		if refusal := s.ask(&ctx, known(cmd), args...); strings.HasPrefix(refusal, "-") {
			c.queue.bad = true
			return refusal, true
		}
		c.queue.calls = append(c.queue.calls, append([]string{cmd}, args...))
	}
	return reply, true
}

func (s *Server) exec(c *conn) string {
	q := c.queue
	c.queue, c.watched = nil, nil
	if q.bad {
		s.ask(&c.ctx, "DISCARD")
		return "-EXECABORT Transaction discarded because of previous errors.\r\n"
	}
	switch reply := s.ask(&c.ctx, "EXEC"); { // an EXEC without commands still checks the watched keys
	case strings.HasPrefix(reply, "*-1") && c.peer.Resp3:
		return "_\r\n"
	case reply != "*0\r\n":
		return reply
	}
	reply := fmt.Sprintf("*%d\r\n", len(q.calls))
	for _, call := range q.calls {
		reply += s.do(c, call[0], call[1:], true)
	}
	return reply
}
