package redispubsub

import (
	"slices"
	"strings"
	"time"
)

// Stats is the state of a subscriber.
type Stats struct {
	// Sockets are in the order of their addresses.
	Sockets []SocketStats
	// Unplaced is the number of topics for which there is no node.
	Unplaced int
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
	// are subscribed. If both are the same, all is well.
	Topics, Live int
	// Messages and Bytes count what the current socket has received.
	Messages, Bytes int64
	// Confirmed is a time before which nothing was lost. While the server answers
	// heartbeats, it is less than redisconn.Opts.IOTimeout ago.
	Confirmed time.Time
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
	stats := Stats{Unplaced: len(s.delayed)}
	for key, f := range s.feeds {
		socket := SocketStats{Addr: key.conn.Addr(), State: f.state, Since: f.changed, Err: f.err}
		for _, t := range f.topics {
			if len(t.members) > 0 {
				socket.Topics++
			}
			if t.live {
				socket.Live++
			}
		}
		if f.session != nil {
			socket.Messages = f.session.messages.Load()
			socket.Bytes = f.session.sock.Received()
			socket.Confirmed = f.session.sock.Confirmed()
		}
		stats.Sockets = append(stats.Sockets, socket)
	}
	slices.SortFunc(stats.Sockets, func(a, b SocketStats) int { return strings.Compare(a.Addr, b.Addr) })
	return stats
}
