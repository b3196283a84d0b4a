package queue

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// inFlightModel returns a model in which a caller reads the answer to its request.
func inFlightModel() *rightsModel {
	m := newRightsModel(true, crowd-1, 4)
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
	require.True(t, m.s.Both)
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
	m := newRightsModel(true, crowd-1, 4)
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
	require.Equal(t, postponePause(m.q.concurrency), m.q.pause)
	m.q.open = &Batch{}
	require.False(t, m.q.postponable())
}

// An answer begins with its first byte: who has come by then has not been woken by it.
func TestPostponingJudgedFromTheFirstByteOn(t *testing.T) {
	m := inFlightModel()
	m.do("call")
	b, _ := m.q.Answering(m.s)
	require.True(t, b.Begun())
	require.Equal(t, 1, m.q.postponed.answered)
	require.Equal(t, 1, m.q.postponed.atAnswer)
}
