package testbed

import (
	"fmt"
	"strings"
	"testing"
)

// bed is a server, cluster or group that is started for a test.
type bed interface {
	Close()
	started() []*Server
}

// forTest starts a bed, and closes it when the test ends. It fails the test on an
// error, and shows the logs if the test fails. opts has at most one element.
func forTest[B bed, O any](t testing.TB, start func(O) (B, error), opts []O) B {
	t.Helper()
	if len(opts) > 1 {
		t.Fatalf("testbed: give one %T at most", opts[0])
	}
	var o O
	if len(opts) == 1 {
		o = opts[0]
	}
	b, err := start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, s := range b.started() {
				t.Log(s.lastWords())
			}
		}
		b.Close()
	})
	return b
}

// withLogs adds the ends of the servers' logs to the error of starting a bed.
func withLogs(err error, b bed) error {
	var logs strings.Builder
	for _, s := range b.started() {
		logs.WriteString("\n" + s.lastWords())
	}
	return fmt.Errorf("%w%s", err, logs.String())
}

// lastWords returns the end of the server's log, with a heading.
func (s *Server) lastWords() string {
	return fmt.Sprintf("log of the server at %s, process %d:\n%s", s.Addr(), s.PID(), s.Log())
}
