package redisconn

import (
	"bufio"
	"context"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
)

// inFlightModel returns a model in which a caller reads the answer to its request.
func inFlightModel() *rightsModel {
	m := newRightsModel(true, true, 4)
	for _, step := range []string{"rest", "call", "write", "take", "wrote"} {
		m.do(step)
	}
	return m
}

func TestPostponeUntilAnswered(t *testing.T) {
	m := inFlightModel()
	m.do("call")
	require.False(t, m.writer)
	require.Positive(t, m.q.postponed.since)
	m.do("answer")
	require.True(t, m.s.unwritten)
	require.True(t, m.callers[1].reads, "the next to read writes first")
}

func TestPostponeUntilThereIsEnough(t *testing.T) {
	m := inFlightModel()
	m.do("call")
	require.False(t, m.writer)
	m.do("call")
	require.True(t, m.writer)
}

// Behind a server that does not answer, requests are sent.
func TestPostponeNotForLong(t *testing.T) {
	m := inFlightModel()
	m.age = 2 * postponeMost
	m.do("call")
	require.True(t, m.writer)
}

// A future may wait for what a postponed request does.
func TestPostponeNotForTheLoop(t *testing.T) {
	m := newRightsModel(true, true, 4)
	for _, step := range []string{"send", "take", "say", "wrote", "call"} {
		m.do(step)
	}
	require.True(t, m.loop)
	require.True(t, m.writer)
}

// The time for which a batch is postponed counts as waiting for the server.
func TestPostponedIsOnTheWire(t *testing.T) {
	m := inFlightModel()
	m.do("call")
	open, ok := m.q.Delay(m.q.seq - 1)
	require.True(t, ok)
	require.Zero(t, open.Queue)
	require.Positive(t, open.Wire)
	for _, step := range []string{"answer", "write", "take", "wrote"} {
		m.do(step)
	}
	written, ok := m.q.Delay(m.q.seq - 1)
	require.True(t, ok)
	require.Zero(t, written.Queue)
	require.Greater(t, written.Wire, open.Wire)
}

// If those who were answered do not send again, their answer was not worth waiting for.
func TestPostponeOnlyIfItPays(t *testing.T) {
	m := inFlightModel()
	for _, step := range []string{"call", "answer", "call", "write", "take"} {
		m.do(step)
	}
	require.Zero(t, m.q.pause, "one was answered, and one has come")
	m = inFlightModel()
	for _, step := range []string{"call", "answer", "write", "take"} {
		m.do(step)
	}
	require.Equal(t, postponePause, m.q.pause)
	m.q.openLocked()
	require.False(t, m.q.postponableLocked())
}

// cutShort reads a part of an answer, after which nothing comes until ctx is done.
type cutShort struct {
	part *strings.Reader
	end  context.CancelFunc
}

func (r *cutShort) Read(p []byte) (int, error) {
	if r.part.Len() > 0 {
		return r.part.Read(p)
	}
	r.end()
	return 0, os.ErrDeadlineExceeded
}

// An answer begins with its first byte, also for a caller that leaves before it has come.
func TestPostponingJudgedFromTheFirstByteOn(t *testing.T) {
	m := inFlightModel()
	m.do("call")
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	m.s.c, m.s.socket, m.s.interrupted = &Connection{}, &socket{Socket: sock.New(client, redis.Limits{})}, make(chan struct{}, 1)
	m.s.reader.s, m.s.reader.cur = m.s, m.q.head
	m.s.reader.dec = redis.NewDecoder(bufio.NewReader(&cutShort{strings.NewReader("$5\r\nhe"), cancel}), redis.Limits{})
	m.s.c.queue.open = m.q.open
	require.Equal(t, replyNever, m.s.reader.awaitReply(ctx))
	require.True(t, m.q.head.Begun())
	require.Equal(t, 1, m.s.c.queue.postponed.answered)
}
