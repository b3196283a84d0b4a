package redispubsub

import (
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Stats is the state of a subscriber. As a variable of package expvar:
//
//	expvar.Publish("pubsub", expvar.Func(func() any { return subscriber.Stats() }))
type Stats struct {
	// Sockets are in the order of their addresses.
	Sockets []SocketStats
	// Subscriptions are those that are not closed.
	Subscriptions int
	// Unplaced is the number of topics for which there is no node at present.
	Unplaced int
	// ConnectionLost, SlotMoved and Failover are how many gaps have begun for each Reason,
	// counted for each topic of each subscription; OpenGaps are those that have not ended.
	ConnectionLost, SlotMoved, Failover uint64
	OpenGaps                            int
	// Messages and Bytes count what all sockets have received, those that have ended
	// included.
	Messages, Bytes uint64
	// Dropped is how many messages did not fit into buffers.
	Dropped uint64
}

// counters are what Stats counts from the beginning.
type counters struct {
	gaps    [Failover + 1]atomic.Uint64 // by Reason
	open    atomic.Int64
	dropped atomic.Uint64
	// What sessions have received that Stats does not see any more. Guarded by
	// Subscriber.mu.
	messages, bytes uint64
}

// retire adds what a session has received since it was called last.
func (c *counters) retire(s *session) {
	messages, bytes := uint64(s.messages.Load()), uint64(s.sock.Received())
	c.messages += messages - s.retired.messages
	c.bytes += bytes - s.retired.bytes
	s.retired.messages, s.retired.bytes = messages, bytes
}

// SocketStats is the state of a socket.
type SocketStats struct {
	Addr  string
	State SocketState
	Since time.Time // of the state
	// Err is the error that ended the last socket, or for which none could be
	// connected. It is nil while there is one.
	Err error
	// Topics is the number of topics that are wanted from the node, Live of those that
	// are subscribed. If both are the same, and no gap is open, all is well.
	Topics, Live int
	// Messages and Bytes count what the current socket has received.
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
type SocketState uint8

const (
	// SocketConnecting: the socket is dialed, for the first time or since it has ended.
	SocketConnecting SocketState = iota
	// SocketConnected: the server has answered the handshake.
	SocketConnected
	// SocketDown: it could not be connected. It is dialed again and again.
	SocketDown
)

// String implements fmt.Stringer.
func (s SocketState) String() string {
	switch s {
	case SocketConnecting:
		return "connecting"
	case SocketConnected:
		return "connected"
	}
	return "down"
}

// Stats returns the state of each socket.
func (s *Subscriber) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := Stats{
		Subscriptions: len(s.subs), Unplaced: len(s.delayed),
		ConnectionLost: s.counts.gaps[ConnectionLost].Load(),
		SlotMoved:      s.counts.gaps[SlotMoved].Load(),
		Failover:       s.counts.gaps[Failover].Load(),
		OpenGaps:       int(s.counts.open.Load()),
		Messages:       s.counts.messages,
		Bytes:          s.counts.bytes,
		Dropped:        s.counts.dropped.Load(),
	}
	for key, f := range s.feeds {
		socket := SocketStats{Addr: key.conn.Addr(), State: f.state, Since: f.changed, Err: f.err}
		for _, t := range f.topics {
			if len(t.members) == 0 {
				continue
			}
			socket.Topics++
			if t.live {
				socket.Live++
			}
		}
		if f.session != nil {
			socket.Messages = f.session.messages.Load()
			socket.Bytes = f.session.sock.Received()
			socket.Confirmed = f.session.sock.Confirmed()
			stats.Messages += uint64(socket.Messages)
			stats.Bytes += uint64(socket.Bytes)
		}
		stats.Sockets = append(stats.Sockets, socket)
	}
	slices.SortFunc(stats.Sockets, func(a, b SocketStats) int { return strings.Compare(a.Addr, b.Addr) })
	return stats
}
