// Package memserver runs a Redis server in the memory of the test's process, for
// tests that go through a real connection:
//
//	server := memserver.New(t)
//	conn, err := redisconn.Connect(ctx, server.Addr(), redisconn.Opts{})
//
// The server is miniredis. For more than 500 uses of commands its results have the
// same Go types as those of a real server, and its errors have the same type, code and traits
// (testdata/conformance.txt). The known differences are listed, with the reasons, in
// testdata/differences.txt and, for redisconn.Opts.Protocol 3, in
// testdata/differences_resp3.txt. The server can't be a cluster, and its speed means nothing. A cache of
// it keeps nothing without [Server.Track].
package memserver

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// Server is an in-memory server. It listens on a free port of 127.0.0.1.
type Server struct {
	mini *miniredis.Miniredis
}

// New starts a server, which is closed when the test ends. If the server does not start, the
// test fails.
func New(t testing.TB) *Server {
	t.Helper()
	s, err := Start()
	if err != nil {
		t.Fatalf("memserver: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

// Start is New without a test: close the server.
func Start() (*Server, error) {
	mini, err := miniredis.Run()
	if err != nil {
		return nil, err
	}
	mini.ClockTTL(true)
	return &Server{mini}, nil
}

// Addr returns the address to connect to.
func (s *Server) Addr() string { return s.mini.Addr() }

// Advance lets time pass for all keys that expire.
func (s *Server) Advance(d time.Duration) { s.mini.FastForward(d) }

// Miniredis returns the underlying miniredis, on which you can make commands fail (SetError), set
// the time, and read and write keys directly.
func (s *Server) Miniredis() *miniredis.Miniredis { return s.mini }

// Close ends the server and its connections.
func (s *Server) Close() { s.mini.Close() }
