package redis

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// soon fails the test if f takes much longer than a function with linear cost could take, even on a
// busy machine. It does not stop f.
func soon(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Errorf("%s takes too long", what)
	}
}

// A client that writes values must not be able to make the readers of these values hang.
func TestCostOfLongText(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds under the race detector, in one goroutine")
	}
	long := bytes.Repeat([]byte("7"), 8<<20)
	unhandy := func(what string, as func(any) error) {
		soon(t, what, func() {
			err := as(long)
			assertType(t, ErrResponseUnexpected, err, what)
			assertType(t, ErrResponseUnexpected, as(append([]byte("-"), long...)), what)
		})
	}
	unhandy("int", func(res any) error { return second(As[int](res)) })
	unhandy("int64", func(res any) error { return second(As[int64](res)) })
	unhandy("uint8", func(res any) error { return second(As[uint8](res)) })
	unhandy("bool", func(res any) error { return second(As[bool](res)) })
	unhandy("Duration", func(res any) error { return second(As[time.Duration](res)) })
	unhandy("Seconds", func(res any) error { return second(As[Seconds](res)) })
	unhandy("Time", func(res any) error { return second(As[time.Time](res)) })
	soon(t, "float64", func() { _ = second(As[float64](long)) })
	soon(t, "float32", func() { _ = second(As[float32](long)) })
	assert.ErrorContains(t, second(As[int](long)), "out of the range")
}

// The cost of a batch is the sum of the costs of its requests, no matter how many of them run a
// script.
func TestCostOfScriptsInBatches(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds under the race detector, in one goroutine")
	}
	const n = 256 << 10
	s := NewScript("return 1")
	call := s.Request(nil)
	reqs := make([]Request, 2*n)
	for i := range reqs {
		if reqs[i] = call; i < n {
			reqs[i] = Req("PING")
		}
	}
	for _, send := range []func(Sender){
		func(to Sender) { to.SendMany(reqs, nil, 0) },
		func(to Sender) { to.SendTransaction(reqs, nil, 0) },
	} {
		soon(t, "a batch", func() {
			node := newScriptNode()
			node.sendMany = node.transaction
			send(WithScripts(node, s))
			assert.Equal(t, "EVAL", node.tx[n].Cmd)
			assert.Equal(t, "EVALSHA", node.tx[n+1].Cmd)
		})
	}
}
