// Package memserver runs a Redis server in the memory of the test's process, for tests that go
// through a real connection:
//
//	server := memserver.New(t)
//	conn, err := redisconn.Connect(ctx, server.Addr(), redisconn.Opts{})
//
// The server is miniredis with corrections: it answers one command at a time, serves blocked
// clients in the order in which they came, respects COUNT in SCAN, and returns unordered elements
// in no particular order. For more than 500 uses of commands its results have the same Go types as
// those of a real server, and its errors have the same type, code and traits
// (testdata/conformance.txt). In some hundred short sequences of commands from several clients, its
// values are the same (testdata/behaviour.txt). docs/testing.md lists the known differences. If a
// test uses one of them, a line in its log says so, once; see [Strict]. For a client of a cluster the
// server is the only master, and no slot moves. Its speed does not resemble that of a real one. Caches
// keep nothing from it unless [Server.Track] was called.
package memserver

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// New starts a server, which is closed when the test ends. If the server does not start, the test
// fails. If the test uses something that real servers do differently, the test's log says so once,
// with the line that called New.
func New(t testing.TB) *Server {
	t.Helper()
	return start(t, func() {})
}

// Strict is [New], except that the test fails when it uses something that real servers do differently.
func Strict(t testing.TB) *Server {
	t.Helper()
	return start(t, t.Fail)
}

// start starts the server of a test. It calls judge when the test uses a difference.
func start(t testing.TB, judge func()) *Server {
	t.Helper()
	_, file, line, _ := runtime.Caller(2)
	s, err := Start()
	if err != nil {
		t.Fatalf("memserver: %v", err)
	}
	s.notice = func(text string) { // Logf would add a line of this file: the test's own goroutine is elsewhere
		fmt.Fprintf(t.Output(), "%s:%d: memserver: %s\n", filepath.Base(file), line, text)
		judge()
	} // nobody can connect before, because only the caller knows the address
	t.Cleanup(s.Close)
	return s
}

// Start is New for programs that are not tests. Close the server.
func Start() (*Server, error) {
	mini, err := miniredis.Run()
	if err != nil {
		return nil, err
	}
	mini.ClockTTL(true)
	s := &Server{
		mini: mini, srv: mini.Server(), conns: map[*server.Peer]*conn{},
		noticed: map[string]bool{}, notice: func(string) {},
	}
	s.srv.SetPreHook(s.hook)
	return s, nil
}
