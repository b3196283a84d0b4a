package sock

import (
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

// The buffer grows when several replies in a row fill it, but not after a single one. It is small
// again after the connection was idle.
func TestReadBufferFits(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	defer here.Close()
	s := New(here, redis.Limits{})
	answers := func(n, size int) {
		reply := "$" + strconv.Itoa(size) + "\r\n" + strings.Repeat("v", size) + "\r\n"
		go func() { _, _ = io.WriteString(there, strings.Repeat(reply, n)) }()
		for range n {
			s.FitReadBuffer()
			res, err := s.Dec.Decode()
			require.NoError(t, err)
			require.Len(t, res, size)
		}
	}
	answer := func(size int) { answers(1, size) }
	answers(20, 10)
	require.Equal(t, readBufferIdle, s.buffer.Size(), "small replies")
	answer(readBufferIdle)
	answer(10)
	require.Equal(t, readBufferLeast, s.buffer.Size(), "after one that fills it")
	answer(readBufferLeast)
	answer(10)
	require.Equal(t, readBufferLeast, s.buffer.Size(), "after one that fills it again")
	answers(30, 16<<10)
	answer(10) // the buffer changes only while it is empty
	require.Equal(t, readBufferMost, s.buffer.Size())
	answer(10)
	require.Equal(t, readBufferMost, s.buffer.Size(), "it stays, until it is idle")
	for range 2 {
		s.NoteIdle()
		answer(10)
		require.Equal(t, readBufferIdle, s.buffer.Size(), "idle")
		require.False(t, s.idle.Load())
	}
}

// When the buffer grows, the beginning of a reply stays in it.
func TestReadBufferGrowsInAReply(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	defer here.Close()
	s := New(here, redis.Limits{})
	value := strings.Repeat("v", 2*readBufferIdle)
	go func() { _, _ = io.WriteString(there, "$4096\r\n"+value+"\r\n:1\r\n") }()
	for !s.Dec.Full() {
		require.NoError(t, s.Dec.AwaitMore())
	}
	require.True(t, s.GrowReadBuffer())
	for !s.Dec.Complete() {
		require.NoError(t, s.Dec.AwaitMore())
	}
	for _, want := range []any{[]byte(value), int64(1)} {
		res, err := s.Dec.Decode()
		require.NoError(t, err)
		require.Equal(t, want, res)
	}
	require.False(t, s.GrowReadBuffer())
}

// writes is a connection that records the size of each write, and counts those without a time-out
// of their own.
type writes struct {
	net.Conn
	sizes   []int
	allowed bool
	late    int
	most    int // the most bytes that a write takes
	until   time.Time
	during  func() // called during a write
}

func (w *writes) SetWriteDeadline(at time.Time) error {
	w.allowed, w.until = !at.IsZero(), at
	return nil
}

func (w *writes) Write(p []byte) (int, error) {
	if !w.allowed {
		w.late++
	}
	w.allowed = false
	if w.during != nil {
		w.during()
	}
	n := min(len(p), w.most)
	w.sizes = append(w.sizes, n)
	return n, nil
}

// Each part of a large value has its own time-out. Without a time-out, the value is written at
// once.
func TestWrite(t *testing.T) {
	conn := &writes{most: 1 << 20}
	s := New(conn, redis.Limits{})
	large := make([]byte, 2*writeMost+1)
	n, err := s.Write(large)
	require.NoError(t, err)
	require.Equal(t, len(large), n)
	require.Equal(t, []int{len(large)}, conn.sizes)

	conn.sizes, conn.late = nil, 0
	s.Allow(time.Minute, 0)
	n, err = s.Write(large)
	require.NoError(t, err)
	require.Equal(t, len(large), n)
	require.Equal(t, []int{writeMost, writeMost, 1}, conn.sizes)
	require.Zero(t, conn.late)

	conn.most = 0
	n, err = s.Write(large)
	require.ErrorIs(t, err, io.ErrShortWrite)
	require.Zero(t, n)
}

// After EndWrites, the parts of a value that are not written yet fail as well.
func TestEndWrites(t *testing.T) {
	conn := &writes{most: 1 << 20}
	s := New(conn, redis.Limits{})
	conn.during = s.EndWrites
	for _, timeout := range []time.Duration{0, time.Minute} {
		s.Allow(timeout, 0)
		_, _ = s.Write(make([]byte, writeMost+1))
		require.Equal(t, LongAgo, conn.until)
	}
}

func TestProgress(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	p := Progress{Since: start}
	var mark Mark
	stalled := func(now, oldest int, received int64) bool {
		return p.Stalled(at(now), at(oldest), mark, received, 5*time.Second)
	}
	require.False(t, stalled(4, 0, 0))
	require.True(t, stalled(5, 0, 100), "too little has come")
	require.False(t, stalled(5, 0, enoughProgress))
	require.False(t, stalled(9, 0, 2*enoughProgress-1))
	require.True(t, stalled(10, 0, 2*enoughProgress-1))
	require.False(t, stalled(10, 6, 2*enoughProgress-1), "it waits since then")
	require.True(t, stalled(11, 6, 3*enoughProgress-2), "what came before does not count")
	mark.Answered++
	require.False(t, stalled(12, 6, 3*enoughProgress-2), "a request was answered")
	require.False(t, stalled(16, 6, 3*enoughProgress-2))
	mark.Taken++
	require.False(t, stalled(17, 6, 3*enoughProgress-2), "the socket has taken some of it")
	require.True(t, stalled(22, 6, 4*enoughProgress-3), "what came before does not count, either")
}
