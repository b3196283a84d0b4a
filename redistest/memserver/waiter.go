package memserver

import (
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// pollInterval is how often a blocking command checks for events that no client causes: keys that
// the test wrote directly, the end of its connection, and its time-out.
const pollInterval = 10 * time.Millisecond

// waiter is a command that blocks. Waiters are served in the order in which they came.
type waiter struct {
	conn   *conn
	cmd    string
	args   []string
	served chan string // the reply; has room for one
	// gone is set if the client had closed the connection when the waiter last looked.
	gone atomic.Bool
}

// block answers a command that may wait.
func block(c *call) bool {
	if c.cmd == "XREAD" && c.noStream() {
		c.WriteError("WRONGTYPE Operation against a key holding the wrong kind of value")
		return true
	}
	timeout, blocks := blockingTime(c.cmd, c.args)
	if !blocks {
		return false
	}
	if c.conn == nil {
		c.s.differs("script blocks", c.cmd)
		c.WriteError("ERR This Redis command is not allowed from script")
		return true
	}
	w := &waiter{conn: c.conn, cmd: c.cmd, args: c.args, served: make(chan string, 1)}
	w.fixIDs(c)
	reply, done := c.s.attempt(w)
	if !done && !c.once {
		reply = c.s.wait(w, timeout, reply)
	}
	c.WriteRaw(reply)
	return true
}

// wait releases Server.turn and writing until the waiter is served, or until timeout. Then it returns
// null. A timeout of 0 means forever.
func (s *Server) wait(w *waiter, timeout time.Duration, null string) string {
	deadline := s.now().Add(timeout)
	s.waiters = append(s.waiters, w)
	for {
		s.turn.Unlock()
		w.conn.writing.Unlock()
		next := time.NewTimer(pollInterval)
		select {
		case reply := <-w.served:
			next.Stop()
			w.conn.writing.Lock()
			s.turn.Lock()
			return reply
		case <-s.mini.Ctx.Done():
		case <-next.C:
		}
		next.Stop()
		w.conn.writing.Lock()
		w.gone.Store(w.conn.peer.Closed())
		s.turn.Lock()
		s.serve()
		select {
		case reply := <-w.served:
			return reply
		default:
		}
		if w.gone.Load() || s.mini.Ctx.Err() != nil || timeout > 0 && !s.now().Before(deadline) {
			s.waiters = slices.DeleteFunc(s.waiters, func(o *waiter) bool { return o == w })
			return null
		}
	}
}

// serve serves waiters until no waiter finds an element.
func (s *Server) serve() {
	for s.serveOne() {
	}
}

func (s *Server) serveOne() bool {
	for i, w := range s.waiters {
		if w.gone.Load() || w.conn.closed() {
			continue
		}
		present, keys := s.present(w)
		reply, done := s.attempt(w)
		switch {
		case done && w.cmd != "XREAD" && w.cmd != "XREADGROUP" && present > 1:
			s.differs("several keys", w.cmd)
		case strings.HasPrefix(reply, "-NOGROUP") && present < keys:
			s.differs("deleted stream", w.cmd)
		}
		if done && !strings.HasPrefix(reply, "-WRONGTYPE") {
			s.waiters = slices.Delete(s.waiters, i, i+1)
			w.served <- reply
			return true
		}
	}
	return false
}

// present returns how many of the waiter's keys exist, and how many keys the waiter has.
func (s *Server) present(w *waiter) (present, keys int) {
	all, _ := streams(w.args)
	switch {
	case strings.HasPrefix(w.cmd, "X"):
	case w.cmd == "BLMPOP", w.cmd == "BZMPOP":
		n, _ := strconv.Atoi(w.args[1])
		all = w.args[2:min(2+n, len(w.args))]
	case w.cmd == "BRPOPLPUSH", w.cmd == "BLMOVE":
		all = w.args[:1]
	default:
		all = w.args[:len(w.args)-1]
	}
	ctx := fork(w.conn.ctx)
	for _, key := range all {
		if s.ask(&ctx, "EXISTS", key) == ":1\r\n" {
			present++
		}
	}
	return present, len(all)
}

// attempt executes the command if it need not wait, which is always so in a transaction. Otherwise
// done is false, and reply is the reply after a time-out.
func (s *Server) attempt(w *waiter) (reply string, done bool) {
	ctx := fork(w.conn.ctx)
	s.ask(&ctx, "UNWATCH")
	s.ask(&ctx, "MULTI")
	cmd, args := w.cmd, w.args
	if cmd == "BLMPOP" {
		cmd, args = "LMPOP", args[1:]
	}
	if refusal := s.ask(&ctx, cmd, args...); strings.HasPrefix(refusal, "-") {
		return refusal, true
	}
	out := newReply(ctx, w.conn.peer.Resp3)
	s.srv.Dispatch(out.Peer, []string{"EXEC"})
	reply = strings.TrimPrefix(out.text(), "*1\r\n")
	switch reply {
	case "*-1\r\n", "$-1\r\n", "_\r\n":
		if w.conn.peer.Resp3 {
			reply = "_\r\n"
		}
		return reply, false
	}
	return reply, true
}

// blockingTime returns the time-out of a command, and whether the command can block at all.
func blockingTime(cmd string, args []string) (timeout time.Duration, blocks bool) {
	seconds := ""
	switch cmd {
	case "BLPOP", "BRPOP", "BZPOPMIN", "BZPOPMAX", "BRPOPLPUSH", "BLMOVE":
		if len(args) > 0 {
			seconds = args[len(args)-1]
		}
	case "BLMPOP", "BZMPOP":
		if len(args) > 0 {
			seconds = args[0]
		}
	case "XREAD", "XREADGROUP":
		for i := 0; i+1 < len(args) && !strings.EqualFold(args[i], "STREAMS"); i++ {
			if strings.EqualFold(args[i], "BLOCK") {
				ms, err := strconv.ParseUint(args[i+1], 10, 32)
				return time.Duration(ms) * time.Millisecond, err == nil
			}
		}
	}
	f, err := strconv.ParseFloat(seconds, 64)
	return time.Duration(f * float64(time.Second)), err == nil && f >= 0 && f < 1e9
}

// streams returns the keys and the IDs in the arguments of XREAD.
func streams(args []string) (keys, ids []string) {
	at := slices.IndexFunc(args, func(arg string) bool { return strings.EqualFold(arg, "STREAMS") })
	if at < 0 || (len(args)-at)%2 == 0 {
		return nil, nil
	}
	half := (len(args) - at - 1) / 2
	return args[at+1:][:half], args[at+1:][half:]
}

// fixIDs replaces $ by the ID of the stream's last entry at this moment.
func (w *waiter) fixIDs(c *call) {
	if w.cmd != "XREAD" {
		return
	}
	w.args = slices.Clone(w.args)
	keys, ids := streams(w.args)
	for i, id := range ids {
		if id != "$" {
			continue
		}
		ids[i] = "0-0"
		last, _ := c.ask("XREVRANGE", keys[i], "+", "-", "COUNT", "1")
		if entries, _ := last.([]any); len(entries) == 1 {
			ids[i] = entries[0].([]any)[0].(string)
		}
	}
}

// noStream reports whether XREAD reads a key that is not a stream.
func (c *call) noStream() bool {
	keys, _ := streams(c.args)
	return slices.ContainsFunc(keys, func(key string) bool {
		kind, _ := c.ask("TYPE", key)
		return kind != server.Simple("none") && kind != server.Simple("stream")
	})
}
