package redis

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
)

// scriptedReader is a connection whose replies a caller reads.
type scriptedReader struct {
	read   func(ctx context.Context, last uint64) (passed bool)
	passed int
}

func (r *scriptedReader) ReadUntil(ctx context.Context, last uint64, _ bool) bool {
	return r.read(ctx, last)
}
func (r *scriptedReader) PassRead() { r.passed++ }

type withdrawal bool

func (w withdrawal) Withdraw(uint64) bool { return bool(w) }

func endedContext() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// waitOrLeave waits for the call and, if its context ends, leaves it.
func waitOrLeave(c *call, ctx context.Context, t send.Ticket) ending {
	if r, ended := c.wait(ctx, &send.Ticket{Tells: true}); ended {
		return c.leave(t, r)
	}
	return endResolved
}

// A caller with the right to read reads up to its own reply.
func TestCallReads(t *testing.T) {
	c := newCall()
	r := &scriptedReader{read: func(_ context.Context, last uint64) bool {
		assert.Equal(t, uint64(7), last)
		assert.False(t, c.GiveRead(send.ReadRight{}), "it reads already")
		assert.True(t, c.resolve())
		return true
	}}
	require.True(t, c.GiveRead(send.ReadRight{Reader: r, Last: 7}))
	require.Equal(t, endResolved, waitOrLeave(&c, context.Background(), send.Ticket{}))
	require.Zero(t, r.passed, "ReadUntil has passed it on")
	require.False(t, c.GiveRead(send.ReadRight{Reader: r}))
	require.False(t, c.resolve(), "twice")
}

// If a request has moved to another connection, its caller may read there.
func TestCallReadsElsewhere(t *testing.T) {
	c := newCall()
	there := &scriptedReader{read: func(context.Context, uint64) bool { return c.resolve() }}
	here := &scriptedReader{read: func(context.Context, uint64) bool { return true }}
	require.True(t, c.GiveRead(send.ReadRight{Reader: here}))
	go func() {
		for !c.GiveRead(send.ReadRight{Reader: there}) {
			runtime.Gosched() // until the caller has read on the first connection
		}
	}()
	require.Equal(t, endResolved, waitOrLeave(&c, context.Background(), send.Ticket{}))
}

// The end of the context, a result and the right to read may come in any order. The right is passed
// on once, and the wait ends as it should.
func TestCallLeaves(t *testing.T) {
	for _, c := range []struct {
		name              string
		give, resolve     bool
		withdrawn         bool
		resolveWhileReads bool
		want              ending
	}{
		{name: "alone", want: endAbandoned},
		{name: "withdrawn", withdrawn: true, want: endWithdrawn},
		{name: "with the right on its way", give: true, want: endAbandoned},
		{name: "with the right on its way, withdrawn", give: true, withdrawn: true, want: endWithdrawn},
		{name: "resolved", resolve: true, want: endResolved},
		{name: "given the right, and resolved", give: true, resolve: true, want: endResolved},
	} {
		t.Run(c.name, func(t *testing.T) {
			call := newCall()
			r := &scriptedReader{read: func(context.Context, uint64) bool { return false }}
			if c.give {
				require.True(t, call.GiveRead(send.ReadRight{Reader: r}))
			}
			if c.resolve {
				require.True(t, call.resolve())
			}
			ticket := send.Ticket{Queue: withdrawal(c.withdrawn)}
			// wait calls leave in this way if ctx ended first.
			require.Equal(t, c.want, call.leave(ticket, send.ReadRight{}))
			require.Empty(t, call.signals)
			require.False(t, call.GiveRead(send.ReadRight{Reader: r}))
			want := 0
			if c.give {
				want = 1
			}
			require.Equal(t, want, r.passed)
		})
	}
}

// If a caller's context ends while the caller reads, the caller passes the right on.
func TestCallLeavesWhileItReads(t *testing.T) {
	for _, resolved := range []bool{false, true} {
		c := newCall()
		r := &scriptedReader{}
		r.read = func(context.Context, uint64) bool {
			if resolved {
				require.True(t, c.resolve())
			}
			return false
		}
		require.True(t, c.GiveRead(send.ReadRight{Reader: r}))
		got := waitOrLeave(&c, context.Background(), send.Ticket{Queue: withdrawal(false)})
		require.Equal(t, map[bool]ending{false: endAbandoned, true: endResolved}[resolved], got)
		require.Equal(t, 1, r.passed)
		require.Empty(t, c.signals)
	}
	require.Equal(t, endAbandoned, func() ending { c := newCall(); return waitOrLeave(&c, endedContext(), send.Ticket{}) }())
}

// A user's Sender may wait for another request before its Send returns. Until then its caller does
// not get the right to read.
func TestCallOfAUsersSender(t *testing.T) {
	given := 0
	c := newCall()
	require.True(t, c.Waits())
	send := func(cb Future) {
		assert.NotNil(t, send.CallerOf(cb))
		assert.False(t, send.CallerOf(cb).Waits(), "its sender may send more")
		assert.False(t, send.CallerOf(cb).GiveRead(send.ReadRight{}), "it does not wait yet")
		r := &scriptedReader{read: func(context.Context, uint64) bool {
			given++
			cb.Resolve([]any{}, 0)
			return true
		}}
		go func() {
			for !send.CallerOf(cb).GiveRead(send.ReadRight{Reader: r}) {
				runtime.Gosched() // until the caller waits
			}
		}()
	}
	s := Sync{&foreignSender{
		send:        func(_ Request, cb Future, _ uint64) { send(cb) },
		sendMany:    func(_ []Request, cb Future, _ uint64) { send(cb) },
		transaction: func(_ []Request, cb Future, _ uint64) { send(cb) },
	}}
	one := []Request{Req("GET", "key")}
	require.Empty(t, s.Send(one[0]))
	require.Empty(t, s.SendMany(one)[0])
	_, err := s.SendTransaction(one)
	require.NoError(t, err)
	require.Equal(t, 3, given)
}

// If a goroutine ends while it sends, for example in a future's Cancelled, it passes on its right
// to read.
func TestCallEndsWhileItSends(t *testing.T) {
	for name, end := range map[string]func(){
		"panic": func() { panic("sending") },
		"exit":  runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			c := newCall()
			r := &scriptedReader{}
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { _ = recover() }()
				c.send(func() {
					require.True(t, c.GiveRead(send.ReadRight{Reader: r}))
					end()
				})
			}()
			<-done
			require.Equal(t, 1, r.passed)
			require.False(t, c.GiveRead(send.ReadRight{Reader: r}))
			require.False(t, c.resolve())
		})
	}
	c := newCall()
	c.of(&foreignSender{})
	require.Panics(t, func() { c.send(func() { panic("sending") }) })
	require.False(t, c.resolve())
}

// A user's Sender may resolve a future just when the connection gives the caller the right to read.
// The right is not lost.
func TestCallIsResolvedWhileItIsGivenTheRight(t *testing.T) {
	for range 2000 {
		c := newCall()
		reads := 0
		r := &scriptedReader{read: func(context.Context, uint64) bool { reads++; return true }}
		given := make(chan bool)
		go func() { given <- c.GiveRead(send.ReadRight{Reader: r}) }()
		go c.resolve()
		require.Equal(t, endResolved, waitOrLeave(&c, context.Background(), send.Ticket{}))
		require.Equal(t, <-given, reads == 1)
		require.Empty(t, c.signals)
	}
}
