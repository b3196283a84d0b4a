package memserver

import (
	"bufio"
	"bytes"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

var subscribes = map[string]bool{"SUBSCRIBE": true, "PSUBSCRIBE": true, "UNSUBSCRIBE": true, "PUNSUBSCRIBE": true}

// subscriber is a peer that subscribes at miniredis in place of a client. It has its own state,
// because a client with RESP3 may send any command while it is subscribed. It passes the messages
// that miniredis writes on to the client. Its lock (see [server.Peer.Block]) guards unsent and
// sending, and is held while a message is written. Take Server.turn before it.
type subscriber struct {
	*server.Peer
	client  *conn
	unsent  bytes.Buffer
	sending bool // send is running
	// channels and patterns are the subscribed ones. Server.turn guards them.
	channels, patterns map[string]bool
}

// subscribe returns miniredis's reply, preceded by the messages that came before it.
func (s *Server) subscribe(c *conn, cmd string, args []string) string {
	if c.subscriber == nil {
		c.subscriber = newSubscriber(s, c)
	}
	c.subscriber.note(cmd, args)
	s.srv.Dispatch(c.subscriber.Peer, append([]string{cmd}, args...))
	return c.subscriber.take()
}

func newSubscriber(s *Server, c *conn) *subscriber {
	sub := &subscriber{client: c, channels: map[string]bool{}, patterns: map[string]bool{}}
	sub.Peer = server.NewPeer(bufio.NewWriter(sub))
	sub.ClientName, sub.Ctx, sub.Resp3 = innerName, fork(c.ctx), c.peer.Resp3
	c.peer.OnDisconnect(func() {
		for _, cmd := range []string{"UNSUBSCRIBE", "PUNSUBSCRIBE"} {
			s.srv.Dispatch(sub.Peer, []string{cmd})
		}
	})
	return sub
}

// Write is called by miniredis, under the lock and under Server.turn, so it does not wait for the
// client.
func (sub *subscriber) Write(b []byte) (int, error) {
	sub.unsent.Write(b)
	if !sub.sending {
		sub.sending = true
		go sub.send()
	}
	return len(b), nil
}

// send writes the messages to the client once none of its commands is being answered, so the client
// gets the reply to its own PUBLISH first. Then send ends.
func (sub *subscriber) send() {
	sub.client.writing.Lock()
	defer sub.client.writing.Unlock()
	sub.client.peer.WriteRaw(sub.take())
	sub.client.peer.Flush()
}

// take returns the unsent text and removes it.
func (sub *subscriber) take() (text string) {
	sub.Block(func(w *server.Writer) {
		w.Flush()
		text, sub.sending = sub.unsent.String(), false
		sub.unsent.Reset()
	})
	return text
}

// speak switches the protocol of the peer.
func (sub *subscriber) speak(resp3 bool) {
	sub.Block(func(*server.Writer) { sub.Resp3 = resp3 })
}

// subscribed reports whether the connection is subscribed with RESP2, so that it may send only
// commands of pub/sub.
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

// note records what is subscribed after a command.
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
