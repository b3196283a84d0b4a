package replies

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/redis"
)

func stream() *Stream {
	s := new(Stream)
	s.Init(&Terms{Protocol: 2})
	return s
}

// sent pushes a flight of n requests.
func (s *Stream) sent(n int) *Flight {
	f := s.NewFlight()
	for range n {
		f.Add()
	}
	f.Push()
	return f
}

// A reply that the library itself gives waits for the replies before it.
func TestOrder(t *testing.T) {
	s := stream()
	f := s.sent(2)
	s.Answer([]byte("+last\r\n"))
	f.Resolve("second", 1)
	f.Resolve("first", 0)
	f.End(0, nil)
	require.True(t, s.Settle())
	s.End()
	require.False(t, s.Settle())
	got, err := io.ReadAll(s)
	require.NoError(t, err)
	require.Equal(t, "+first\r\n+second\r\n+last\r\n", string(got))
	_, err = s.Writable()
	require.ErrorIs(t, err, net.ErrClosed)
}

// A client gets the error that a request was not sent, and may repeat it, only if it had read all
// replies when it wrote, and no earlier request was answered since.
func TestFailure(t *testing.T) {
	lost := redis.ErrQueueFull.New("full")
	for _, c := range []struct {
		answered int
		outcome  redis.Outcome
	}{{0, redis.OutcomeNotSent}, {1, redis.OutcomeUnknown}} {
		s := stream()
		s.sent(1).Resolve("OK", 0)
		_, err := io.ReadFull(s, make([]byte, 5))
		require.NoError(t, err)
		wanted, err := s.Writable()
		require.True(t, wanted)
		require.NoError(t, err)
		f := s.sent(2)
		if c.answered == 1 {
			f.Resolve("OK", 0)
		}
		f.End(c.answered, lost)
		got, err := io.ReadAll(s)
		require.Len(t, got, 5*c.answered)
		require.Equal(t, c.outcome, redis.OutcomeOf(err))
		require.Equal(t, c.outcome == redis.OutcomeNotSent, redis.SafeToRetry(err))
		require.Equal(t, c.outcome == redis.OutcomeNotSent, errors.Is(err, io.ErrUnexpectedEOF), "go-redis goes by this")
		_, err = s.Writable()
		require.Equal(t, c.outcome, redis.OutcomeOf(err))
	}
}

// After Continue, the client first reads the earlier replies, and then from its separate socket. Close closes
// that socket.
func TestContinue(t *testing.T) {
	s := stream()
	s.Answer([]byte("+OK\r\n"))
	own, server := net.Pipe()
	s.Continue(own)
	go func() { _, _ = io.WriteString(server, "+own\r\n") }()
	got := make([]byte, 11)
	_, err := io.ReadFull(s, got)
	require.NoError(t, err)
	require.Equal(t, "+OK\r\n+own\r\n", string(got))
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Close(), net.ErrClosed)
	_, err = own.Write([]byte("x"))
	require.ErrorIs(t, err, io.ErrClosedPipe)
	own, _ = net.Pipe()
	s.Continue(own)
	_, err = own.Write([]byte("x"))
	require.ErrorIs(t, err, io.ErrClosedPipe, "the stream is closed already")
}

// Close ends Reads, blocking commands and calls of Settle.
func TestClose(t *testing.T) {
	s := stream()
	f := s.sent(1)
	ctx := s.Context()
	ended := make(chan error)
	go func() {
		_, err := s.Read(make([]byte, 1))
		ended <- err
	}()
	go func() {
		require.False(t, s.Settle())
		<-ctx.Done()
		ended <- net.ErrClosed
	}()
	require.NoError(t, f.Cancelled())
	require.NoError(t, s.Close())
	require.ErrorIs(t, <-ended, net.ErrClosed)
	require.ErrorIs(t, <-ended, net.ErrClosed)
	require.ErrorIs(t, f.Cancelled(), net.ErrClosed)
	require.Error(t, s.Context().Err())
}

// roomy is a send.CapacityWaiter for a queue that has room again.
type roomy struct{}

func (roomy) AwaitCapacity(context.Context) error { return nil }

// A redirected request may be refused by a full queue while the next request is being sent. The
// next request is still sent only once.
func TestRefusedBetween(t *testing.T) {
	s := stream()
	f := s.sent(2)
	sent := 0
	require.NoError(t, f.Send(false, func() {}))
	f.Resolve(redis.ErrQueueFull.New("full").WithProperty(errs.EKCapacity, roomy{}), 0)
	require.NoError(t, f.Send(true, func() { sent++ }))
	require.Equal(t, 1, sent)
	f.Resolve("OK", 1)
	_, err := s.Read(make([]byte, 1))
	require.Equal(t, redis.OutcomeUnknown, redis.OutcomeOf(err), "the second has run")
}
