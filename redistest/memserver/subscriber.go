package memserver

import (
	"bufio"
	"bytes"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

var subscribes = map[string]bool{"SUBSCRIBE": true, "PSUBSCRIBE": true, "UNSUBSCRIBE": true, "PUNSUBSCRIBE": true}

// subscriber is a peer that miniredis takes for a client that subscribes. It has a state of its own, because a
// client with RESP3 may send any command while it is subscribed, and passes what miniredis writes to the
// client. Its lock (see [server.Peer.Block]) guards unsent and sending, and is held while a message is
// written. Take Server.turn before it.
type subscriber struct {
	*server.Peer
	s       *Server
	client  *server.Peer
	unsent  bytes.Buffer
	sending bool // send runs
	// channels and patterns are what is subscribed to, guarded by Server.turn.
	channels, patterns map[string]bool
}

// subscribe returns miniredis's reply, behind the messages that came before it.
func (s *Server) subscribe(c *conn, cmd string, args []string) string {
	if c.subscriber == nil {
		c.subscriber = newSubscriber(s, c)
	}
	c.subscriber.note(cmd, args)
	s.srv.Dispatch(c.subscriber.Peer, append([]string{cmd}, args...))
	return c.subscriber.take()
}

func newSubscriber(s *Server, c *conn) *subscriber {
	sub := &subscriber{s: s, client: c.peer, channels: map[string]bool{}, patterns: map[string]bool{}}
	sub.Peer = server.NewPeer(bufio.NewWriter(sub))
	sub.ClientName, sub.Ctx, sub.Resp3 = innerName, fork(c.ctx), c.peer.Resp3
	c.peer.OnDisconnect(func() {
		for _, cmd := range []string{"UNSUBSCRIBE", "PUNSUBSCRIBE"} {
			s.srv.Dispatch(sub.Peer, []string{cmd})
		}
	})
	return sub
}

// Write is called by miniredis, under the lock. It does not wait for the turn, because the command that has
// it may wait for miniredis.
func (sub *subscriber) Write(b []byte) (int, error) {
	sub.unsent.Write(b)
	if !sub.sending {
		sub.sending = true
		go sub.send()
	}
	return len(b), nil
}

// send writes the messages to the client once no command is answered, so the client gets the reply
// to its own PUBLISH first. It ends then.
func (sub *subscriber) send() {
	sub.s.turn.Lock()
	sub.client.WriteRaw(sub.take())
	sub.s.turn.Unlock()
	sub.client.Flush()
}

// take returns the text that was not sent yet, and drops it.
func (sub *subscriber) take() (text string) {
	sub.Block(func(w *server.Writer) {
		w.Flush()
		text, sub.sending = sub.unsent.String(), false
		sub.unsent.Reset()
	})
	return text
}

// speak switches the protocol.
func (sub *subscriber) speak(resp3 bool) {
	sub.Block(func(*server.Writer) { sub.Resp3 = resp3 })
}

// subscribed reports whether the connection may only send commands of pub/sub.
func (s *Server) subscribed(c *conn) bool {
	return !c.peer.Resp3 && c.subscriber != nil && strings.HasPrefix(s.ask(&c.subscriber.Ctx, "ECHO", ""), "-ERR Can't execute")
}

// publish warns if a client with RESP3 publishes to itself.
func publish(c *call) bool {
	if c.conn == nil || c.conn.subscriber == nil || !c.conn.peer.Resp3 || len(c.args) != 2 {
		return false
	}
	if own := c.conn.subscriber; own.channels[c.args[0]] || len(own.patterns) > 0 {
		c.s.differs("own message", c.cmd)
	}
	return false
}

// note remembers what is subscribed to after a command.
func (sub *subscriber) note(cmd string, args []string) {
	topics := sub.channels
	if cmd[0] == 'P' {
		topics = sub.patterns
	}
	ends := strings.Contains(cmd, "UNSUB")
	if ends && len(args) == 0 {
		clear(topics)
	}
	for _, topic := range args {
		if topics[topic] = true; ends {
			delete(topics, topic)
		}
	}
}
