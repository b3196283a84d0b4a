package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestYields(t *testing.T) {
	for _, c := range []struct {
		concurrency                int
		crowded, gathered, yielded bool
	}{
		{0, false, false, false},
		{1, false, false, false},
		{2, false, false, true},
		{2, false, true, false},
		{crowdBegins - 1, false, false, true},
		{crowdBegins - 1, false, true, false},
		{crowdEnds, true, false, true},
		{crowdEnds, true, true, true},
	} {
		require.Equal(t, c.yielded, worthYielding(c.concurrency, c.crowded, c.gathered), "%+v", c)
	}
}

func TestCrowd(t *testing.T) {
	for _, c := range []struct {
		concurrency          int
		already, light, want bool
	}{
		{23, false, true, false},
		{24, false, true, false},
		{47, false, true, false},
		{48, false, true, true},
		{1000, false, true, true},
		{23, true, true, false},
		{24, true, true, true},
		{23, false, false, false},
		{24, false, false, true},
		{23, true, false, false},
	} {
		require.Equal(t, c.want, crowded(c.concurrency, c.already, c.light), "%+v", c)
	}
}

// A concurrency that sways around the beginning of a crowd does not end it with every batch.
func TestCrowdSways(t *testing.T) {
	q := newTestQueue(1000, 1_000_000)
	q.state, q.session, q.reading = Connected, testSession(), readLoop
	for _, c := range []struct {
		pending int
		want    bool
	}{{crowdBegins - 1, false}, {crowdBegins, true}, {crowdBegins - 1, true}, {crowdEnds, true}, {1, true}} {
		q.pending = c.pending - 1 // put adds one
		q.put(1, nil)
		_, _ = q.take(true)
		require.Equal(t, c.want, q.crowded.Load(), "%+v", c)
	}
	for q.concurrency >= crowdEnds {
		require.True(t, q.crowded.Load())
		q.pending = 0
		q.put(1, nil)
		_, _ = q.take(true)
	}
	require.False(t, q.crowded.Load())
}

func TestEnough(t *testing.T) {
	for name, c := range map[string]struct {
		concurrency, bytes, processors   int
		crowded, manyServers, inParallel bool
		want                             int
	}{
		"alone":                          {concurrency: 1, bytes: lightMost, processors: 2, want: enoughMost},
		"light":                          {concurrency: 23, bytes: lightMost, processors: 2, want: enoughMost},
		"light, many":                    {concurrency: 47, bytes: lightMost, processors: 2, want: enoughMost},
		"not light, few":                 {concurrency: 8, bytes: lightMost + 1, processors: 2, want: enoughLeast},
		"heavy, few":                     {concurrency: 5, bytes: heavyLeast, processors: 2, want: enoughLeast},
		"heavy":                          {concurrency: 8, bytes: heavyLeast, processors: 2, want: 2},
		"almost heavy":                   {concurrency: 8, bytes: heavyLeast - 1, processors: 2, want: enoughLeast},
		"not light, many":                {concurrency: 40, bytes: lightMost + 1, processors: 2, want: 20},
		"heavy crowd":                    {concurrency: 40, bytes: heavyLeast, processors: 2, crowded: true, want: 20},
		"small crowd":                    {concurrency: 24, bytes: lightMost, processors: 2, crowded: true, want: enoughLeast},
		"crowd":                          {concurrency: 128, bytes: lightMost, processors: 2, crowded: true, want: 64},
		"large crowd":                    {concurrency: 1000, bytes: lightMost, processors: 2, crowded: true, want: enoughMost},
		"one processor":                  {concurrency: 8, bytes: lightMost, processors: 1, want: enoughMostOfOne},
		"one processor, crowd":           {concurrency: 128, bytes: lightMost, processors: 1, crowded: true, want: 64},
		"one processor, large crowd":     {concurrency: 1000, bytes: lightMost, processors: 1, crowded: true, want: 500},
		"one processor, larger crowd":    {concurrency: 5000, bytes: lightMost, processors: 1, crowded: true, want: enoughMostOfOne},
		"in parallel, five":              {concurrency: 5, bytes: lightMost, processors: 1, inParallel: true, want: enoughMostOfOne},
		"in parallel, six":               {concurrency: 6, bytes: lightMost, processors: 1, inParallel: true, want: 2},
		"in parallel, many":              {concurrency: 47, bytes: lightMost, processors: 1, inParallel: true, want: 15},
		"in parallel, heavy":             {concurrency: 18, bytes: lightMost, processors: 1, inParallel: true, want: 6},
		"in parallel, crowd":             {concurrency: 128, bytes: lightMost, processors: 1, crowded: true, inParallel: true, want: 64},
		"several servers":                {concurrency: 2, bytes: lightMost, processors: 2, manyServers: true, want: enoughMost},
		"several servers, crowd":         {concurrency: 100, bytes: lightMost, processors: 2, crowded: true, manyServers: true, want: enoughMost},
		"several servers, one processor": {concurrency: 8, bytes: lightMost, processors: 1, manyServers: true, inParallel: true, want: enoughMostOfOne},
	} {
		require.Equal(t, c.want, enough(c.concurrency, c.bytes, mostWaited(c.processors), c.crowded, c.manyServers, c.inParallel), name)
	}
}

// A batch of enoughBytes does not wait, however few requests it has.
func TestEnoughBytes(t *testing.T) {
	q := newTestQueue(100, 1000)
	q.open = &batch{buf: make([]byte, enoughBytes-1), items: make([]item, 1)}
	require.False(t, q.enough())
	q.open.buf = append(q.open.buf, 0)
	require.True(t, q.enough())
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
	require.Equal(t, 256, postponePause(false))
	require.Equal(t, 32, postponePause(true), "postponing pays again sooner")
}

func TestYieldingAgain(t *testing.T) {
	require.True(t, worthYieldingAgain(true, true))
	require.False(t, worthYieldingAgain(false, true))
	require.False(t, worthYieldingAgain(true, false))
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
	m := newRightsModel(true, crowdEnds-1, 4)
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
	m := newRightsModel(true, crowdEnds-1, 4)
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
	require.Equal(t, postponePause(false), m.q.pause)
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
