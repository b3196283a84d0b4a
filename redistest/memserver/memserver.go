// Package memserver runs a Redis server in the memory of the test's process, for
// tests that go through a real connection:
//
//	server := memserver.New(t)
//	conn, err := redisconn.Connect(ctx, server.Addr(), redisconn.Opts{})
//
// The server is miniredis. For more than 500 uses of commands its results have the
// same Go types as those of a real server, and errors the same type, code and traits
// (testdata/conformance.txt). What is known to differ is listed, with the reason, in
// testdata/differences.txt and, for redisconn.Opts.Protocol 3, in
// testdata/differences_resp3.txt. It is no cluster, and no measure of speed. A cache of it keeps
// nothing without [Server.Track].
package memserver

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// Server is a server in memory. It listens on a free port of 127.0.0.1.
type Server struct {
	mini *miniredis.Miniredis
}

// New starts a server that is closed when the test ends. The test fails if it does
// not start.
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

// Miniredis returns the miniredis that the server is, to have commands fail (SetError), to set
// the time, and to read and write keys directly.
func (s *Server) Miniredis() *miniredis.Miniredis { return s.mini }

// Close ends the server and its connections.
func (s *Server) Close() { s.mini.Close() }
