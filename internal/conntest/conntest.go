// Package conntest helps to test packages that use connections.
package conntest

import (
	"context"
	"net"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/joomcode/redispipe/redisconn"
)

// Connect returns a connection that is closed at the end of the test. Unless opts say otherwise, it
// logs nothing, and its time-out is longer than a pause of this process on a busy machine.
func Connect(t testing.TB, addr string, opts redisconn.Opts) *redisconn.Connection {
	t.Helper()
	if opts.IOTimeout == 0 {
		opts.IOTimeout = time.Minute
	}
	if opts.Logger == nil {
		opts.Logger = redisconn.NoopLogger{}
	}
	conn, err := redisconn.Connect(context.Background(), addr, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// SlowDial returns a connection that remains in the state connecting until ready is called.
func SlowDial(t testing.TB, addr string, opts redisconn.Opts) (conn *redisconn.Connection, ready func()) {
	t.Helper()
	dialing := make(chan struct{})
	opts.AsyncDial, opts.DialTimeout, opts.IOTimeout, opts.NoClientInfo = true, time.Minute, time.Minute, true
	opts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		select {
		case <-dialing:
		case <-ctx.Done():
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	return Connect(t, addr, opts), sync.OnceFunc(func() { close(dialing) })
}

// GoroutinesLeft waits until no goroutine of the library is left. If one is left after 20 seconds,
// it returns the stack of that goroutine. Goroutines of tests and of their servers do not count.
func GoroutinesLeft() (stack string) {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if stack = oneLeft(); stack == "" {
			break
		}
	}
	return stack
}

var (
	ofLibrary = regexp.MustCompile(`joomcode/redispipe/(internal|redis)`)
	ofTests   = regexp.MustCompile(`joomcode/redispipe/(redistest|testbed|internal/conntest|[\w/]+_test)\b|\ntesting\.tRunner`)
)

// oneLeft returns the stack of a goroutine of the library, or "" if there is none.
func oneLeft() string {
	all := make([]byte, 16<<20)
	all = all[:runtime.Stack(all, true)]
	for stack := range strings.SplitSeq(string(all), "\n\n") {
		if ofLibrary.MatchString(stack) && !ofTests.MatchString(stack) {
			return stack
		}
	}
	return ""
}
