package replies

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A deadline that is set during a Read applies to that Read.
func TestDeadlineWhileReading(t *testing.T) {
	s := stream()
	read := make(chan error)
	go func() {
		_, err := s.Read(make([]byte, 1))
		read <- err
	}()
	require.NoError(t, s.SetReadDeadline(time.Now().Add(time.Millisecond)))
	err := <-read
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NotErrorIs(t, err, context.DeadlineExceeded, "nothing was sent")
	s.sent(1)
	_, err = s.Read(make([]byte, 1))
	require.ErrorIs(t, err, context.DeadlineExceeded, "it may have run")
}

// A request that the client has written may run, even if the writer has not sent it yet.
func TestDeadlineBeforeSent(t *testing.T) {
	s := stream()
	s.Serving(true)
	require.NoError(t, s.SetReadDeadline(time.Unix(1, 0)))
	_, err := s.Read(make([]byte, 1))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	s.Serving(false)
	_, err = s.Read(make([]byte, 1))
	require.NotErrorIs(t, err, context.DeadlineExceeded)
}

// If the deadline was moved before its timer fires, the Read ends at the new deadline.
func TestDeadlineMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stream()
		require.NoError(t, s.SetReadDeadline(time.Now().Add(time.Second)))
		go func() {
			synctest.Wait()
			require.NoError(t, s.SetReadDeadline(time.Now().Add(time.Hour)))
			time.Sleep(time.Minute)
			s.Answer([]byte("+OK\r\n"))
		}()
		got := make([]byte, 5)
		_, err := s.Read(got)
		require.NoError(t, err)
		require.Equal(t, "+OK\r\n", string(got))
		_, err = s.Read(got)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, time.Hour, time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)))
		require.NoError(t, s.Close())
	})
}

// A deadline holds, even if its timer rings early, as when the clock was set back.
func TestEarlyAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stream()
		require.NoError(t, s.SetWriteDeadline(time.Now().Add(time.Minute)))
		go func() {
			time.Sleep(time.Second)
			s.mu.Lock()
			s.overdue.Stop()
			s.mu.Unlock()
			s.passed()
		}()
		waiting, end := context.WithTimeout(s.Context(), time.Hour)
		defer end()
		err := s.Await(func() { <-waiting.Done() })
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	})
}
