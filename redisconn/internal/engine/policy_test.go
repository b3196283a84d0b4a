package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestYields(t *testing.T) {
	for _, c := range []struct {
		concurrency                         int
		alone, yields, yieldsAlone, crowded bool
	}{
		{0, true, false, false, false},
		{1, true, false, false, false},
		{2, false, false, true, false},
		{23, false, false, true, false},
		{24, false, true, true, true},
		{1000, false, true, true, true},
	} {
		require.Equal(t, c.alone, alone(c.concurrency), "%+v", c)
		require.Equal(t, c.yields, worthYielding(c.concurrency, true), "%+v", c)
		require.Equal(t, c.yieldsAlone, worthYielding(c.concurrency, false), "%+v", c)
		require.Equal(t, c.crowded, crowded(c.concurrency), "%+v", c)
	}
}

func TestEnough(t *testing.T) {
	for _, c := range []struct {
		items, bytes, concurrency, processors int
		manyServers, want                     bool
	}{
		{1, 100, 1, 2, false, false},
		{15, 100, 2, 2, false, false},
		{16, 100, 2, 2, false, true},
		{63, 100, 128, 2, false, false},
		{64, 100, 128, 2, false, true},
		{127, 100, 1000, 2, false, false},
		{128, 100, 1000, 2, false, true},
		{63, 100, 128, 1, false, false},
		{64, 100, 128, 1, false, true},
		{499, 100, 1000, 1, false, false},
		{500, 100, 1000, 1, false, true},
		{512, 100, 5000, 1, false, true},
		{64, 100, 100, 2, true, false},
		{100, 100, 100, 2, true, true},
		{1, enoughBytes, 1000, 2, false, true},
		{1, enoughBytes - 1, 1000, 2, false, false},
	} {
		require.Equal(t, c.want, enough(c.items, c.bytes, c.concurrency, mostWaited(c.processors), c.manyServers), "%+v", c)
	}
}

func TestPostponing(t *testing.T) {
	for _, c := range []struct {
		concurrency int
		roundTrip   time.Duration
		want        bool
	}{
		{1, 0, false},
		{2, 0, true},
		{1000, postponeMost, true},
		{1000, postponeMost + 1, false},
	} {
		require.Equal(t, c.want, worthPostponing(c.concurrency, c.roundTrip), "%+v", c)
	}
}

func TestPostponePause(t *testing.T) {
	require.Equal(t, 256, postponePause(crowd-1))
	require.Equal(t, 32, postponePause(crowd), "postponing pays again sooner")
}

func TestYieldingAgain(t *testing.T) {
	require.True(t, worthYieldingAgain(crowd))
	require.False(t, worthYieldingAgain(crowd-1))
}

func TestInTime(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		oldest, minTrip, left time.Duration
		want                  bool
	}{
		{0, 0, ms, true},
		{0, 0, 0, false},
		{0, 0, -ms, false},
		{ms, ms, 2 * ms, true},
		{50 * ms, ms, 10 * ms, false},
		{6 * ms, 0, 10 * ms, true},
		{14 * ms, 0, 30 * ms, true},
		{16 * ms, 0, 30 * ms, false},
		{0, 20 * ms, 10 * ms, false},
	} {
		require.Equal(t, c.want, inTime(c.oldest, c.minTrip, c.left), "%+v", c)
	}
}

// inFlightModel returns a model with one request in flight, whose caller reads.
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
	require.True(t, m.s.both)
	require.True(t, m.callers[1].reads, "the next to read writes first")
}

func TestPostponeUntilThereIsEnough(t *testing.T) {
	m := inFlightModel()
	m.do("call")
	require.False(t, m.writer)
	m.do("call")
	require.True(t, m.writer)
}

// If a server does not answer, batches are no longer postponed.
func TestPostponeNotForLong(t *testing.T) {
	m := inFlightModel()
	m.age = 2 * postponeMost
	m.do("call")
	require.True(t, m.writer)
}

// When the loop gets the right to read, it writes the postponed batch: the future that it resolves
// may wait for the effect of a postponed request.
func TestPostponeNotForTheLoop(t *testing.T) {
	m := newRightsModel(true, crowd-1, 4)
	for _, step := range []string{"send", "take", "say", "wrote", "call"} {
		m.do(step)
	}
	require.True(t, m.loop)
	require.True(t, m.writer)
}

// The delay of a request counts the time for which its batch is postponed as waiting for the
// server.
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

// If the callers that got replies do not send again, postponing the open batch until those replies
// has gained nothing, and the next batches are not postponed.
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
	m.q.open = &batch{}
	require.False(t, m.q.postponable())
}

// An answer begins with its first byte. Only callers that send after that byte count as woken by
// the answer.
func TestPostponingJudgedFromTheFirstByteOn(t *testing.T) {
	m := inFlightModel()
	m.do("call")
	b, _ := m.q.answering(m.s)
	require.True(t, b.Begun())
	require.Equal(t, 1, m.q.postponed.answered)
	require.Equal(t, 1, m.q.postponed.atAnswer)
}
