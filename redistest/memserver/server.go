package memserver

import (
	"sync"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// Server is an in-memory server. It listens on a free port of 127.0.0.1.
type Server struct {
	mini *miniredis.Miniredis
	srv  *server.Server // the server that miniredis started; miniredis forgets it on Close

	// The locks are taken in this order: conn.writing, turn, and then one of connsMu, tracking.mu and the lock of
	// a subscriber. Under turn, conn.writing may only be taken with TryLock.
	connsMu sync.Mutex
	conns   map[*server.Peer]*conn // guarded by connsMu

	// turn is a lock that is held while a command is answered. It guards the fields below, and the
	// values in conns.
	turn     sync.Mutex
	refusal  string // the answer to all commands, if not empty
	waiters  []*waiter
	clock    clock
	tracking *tracking       // nil before Track
	noticed  map[string]bool // names of differences that were reported
	notice   func(text string)
}

// Addr returns the address to connect to.
func (s *Server) Addr() string { return s.mini.Addr() }

// SetError makes the server answer every command with an error, such as "LOADING Redis is loading
// the dataset in memory". SetError("") ends that.
func (s *Server) SetError(msg string) {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.refusal = msg
}

// Miniredis returns the underlying miniredis, with which you can read and write keys directly, set
// passwords, and set the time. Do not call its SetError, which turns off everything that this package
// adds: call [Server.SetError].
func (s *Server) Miniredis() *miniredis.Miniredis { return s.mini }

// Close ends the server and its connections.
func (s *Server) Close() { s.mini.Close() }
