package redispubsub

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/joomcode/redispipe/redispubsub/internal/inbox"
	"github.com/joomcode/redispipe/redispubsub/internal/subscriptions"
)

// Stats is the state of a subscriber. To publish it with package expvar:
//
//	expvar.Publish("pubsub", expvar.Func(func() any { return subscriber.Stats() }))
type Stats struct {
	// Sockets are in the order of their addresses.
	Sockets []SocketStats
	// Subscriptions is the number of open subscriptions.
	Subscriptions int
	// Unplaced is the number of topics for which there is no node at present.
	Unplaced int
	// ConnectionLost, SlotMoved and Failover count the gaps that have started, by Reason. A gap counts
	// once for each topic of each subscription. OpenGaps is the number of gaps that have not ended.
	ConnectionLost, SlotMoved, Failover uint64
	OpenGaps                            int
	// Messages and Bytes count the messages and bytes that all sockets have received, including
	// closed ones.
	Messages, Bytes uint64
	// Dropped counts the messages that did not fit into buffers.
	Dropped uint64
}

// SocketStats is the state of a socket.
type SocketStats struct {
	Addr  string
	State SocketState
	Since time.Time // when the socket entered the state
	// Err is the error that ended the last socket or the last attempt to connect. It is nil while
	// there is a socket.
	Err error
	// Topics is the number of topics requested from the node, and Live the number of topics that the
	// node has confirmed. If both are equal, and no gap is open, no messages are being missed.
	Topics, Live int
	// Messages and Bytes count the messages and bytes that the current socket has received.
	Messages, Bytes int64
	// Confirmed is a time before which nothing was lost. While the server answers
	// heartbeats, it is less than redisconn.Opts.IOTimeout ago.
	Confirmed time.Time
}

// MarshalJSON writes the error and the state as text.
func (s SocketStats) MarshalJSON() ([]byte, error) {
	type fields SocketStats
	text := struct {
		fields
		State, Err string
	}{fields: fields(s), State: s.State.String()}
	if s.Err != nil {
		text.Err = s.Err.Error()
	}
	return json.Marshal(text)
}

// SocketState is the state of a socket.
type SocketState = subscriptions.State

const (
	// SocketConnecting: the client is dialing, for the first time or after the socket has ended.
	SocketConnecting SocketState = subscriptions.Connecting
	// SocketConnected: the server has answered the handshake.
	SocketConnected SocketState = subscriptions.Connected
	// SocketDown: the client could not connect. It keeps dialing.
	SocketDown SocketState = subscriptions.Down
)

// traffic counts the messages and bytes that sockets have received.
type traffic struct{ messages, bytes uint64 }

func (t *traffic) add(s *session) {
	t.messages += uint64(s.messages.Load())
	t.bytes += uint64(s.sock.Received())
}

// Stats returns the state of each socket.
func (s *Subscriber) Stats() Stats {
	if !s.opened() {
		return Stats{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	received := s.ended
	for _, sess := range s.sessions {
		received.add(sess)
	}
	stats := Stats{
		Subscriptions: s.table.Sets(), Unplaced: s.table.Unplaced(),
		ConnectionLost: s.counts.Gaps[inbox.ConnectionLost].Load(),
		SlotMoved:      s.counts.Gaps[inbox.SlotMoved].Load(),
		Failover:       s.counts.Gaps[inbox.Failover].Load(),
		OpenGaps:       int(s.counts.Open.Load()),
		Messages:       received.messages,
		Bytes:          received.bytes,
		Dropped:        s.counts.Dropped.Load(),
	}
	for _, f := range s.table.Feeds() {
		socket := SocketStats{Addr: f.Node.Addr(), State: f.State, Since: f.Changed, Err: f.Err}
		socket.Topics, socket.Live = f.Count()
		if sess := s.sessions[f]; sess != nil {
			socket.Messages, socket.Bytes = sess.messages.Load(), sess.sock.Received()
			socket.Confirmed = sess.sock.Confirmed()
		}
		stats.Sockets = append(stats.Sockets, socket)
	}
	slices.SortFunc(stats.Sockets, func(a, b SocketStats) int { return strings.Compare(a.Addr, b.Addr) })
	return stats
}
