package rediscluster

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// watched holds the names of the tests that already look for leaks.
var watched sync.Map

// watchLeaks labels the calling goroutine, and all goroutines that it starts from now on, with the test's
// name. At the end of the test, none of these goroutines may be left in the library. Goroutines without
// a label, such as functions of timers, are checked at the end of all tests.
func watchLeaks(t testing.TB) {
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("test", t.Name())))
	if _, again := watched.LoadOrStore(t.Name(), true); !again {
		t.Cleanup(func() { // registered first, so it runs last, after every Close
			noLeaks(t)
			watched.Delete(t.Name())
		})
	}
}

// noLeaks waits until no goroutine of the library with the test's label is left.
func noLeaks(t testing.TB) {
	t.Helper()
	left := ""
	gone := func() bool {
		left = goroutines(t.Name())
		return left == ""
	}
	if !assert.Eventually(t, gone, patience, 5*time.Millisecond) {
		t.Log(left)
	}
}

// goroutines returns the stacks of the library's goroutines with the label of a test, or of all of them
// if test is empty.
func goroutines(test string) string {
	var all bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&all, 1)
	var left []string
	for g := range strings.SplitSeq(all.String(), "\n\n") {
		ours := strings.Contains(g, "redispipe/redisconn") || strings.Contains(g, "redispipe/rediscluster.(*")
		if ours && (test == "" || strings.Contains(g, fmt.Sprintf("%q:%q", "test", test))) {
			left = append(left, g)
		}
	}
	return strings.Join(left, "\n\n")
}

// A goroutine that outlives its test is found, even if another test has more of them.
func TestLeaksAreFound(t *testing.T) {
	node := newScriptedNode(t, nil)
	opts := Opts{Logger: NoopLogger{}}
	t.Run("another", func(t *testing.T) {
		connect(t, []string{node.Addr()}, opts)
		t.Run("one", func(t *testing.T) {
			watchLeaks(t)
			c, err := NewCluster(context.Background(), []string{node.Addr()}, opts)
			assert.NoError(t, err)
			assert.NotEmpty(t, goroutines(t.Name()))
			c.Close()
			noLeaks(t)
		})
		assert.NotEmpty(t, goroutines(t.Name()))
	})
}
