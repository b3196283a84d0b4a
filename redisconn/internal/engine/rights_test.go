package engine

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

// The test explores every order of steps over all states with a few requests, more of them with
// REDISPIPE_LONG. No request is lost, nobody waits for ever, and each right has one holder.
func TestRightsModel(t *testing.T) {
	requests := 3
	switch {
	case os.Getenv("REDISPIPE_LONG") != "":
		requests = 4
	case testing.Short():
		requests = 2
	}
	for _, c := range []struct {
		mayIdle     bool
		concurrency int
	}{{true, 0}, {false, 0}, {true, crowdEnds - 1}, {false, crowdEnds - 1}, {true, 1000}, {false, 1000}} {
		seen := map[string]bool{}
		paths := [][]string{nil}
		ends := 0
		for len(paths) > 0 {
			path := paths[len(paths)-1]
			paths = paths[:len(paths)-1]
			m := newRightsModel(c.mayIdle, c.concurrency, requests)
			for _, step := range path {
				m.do(step)
			}
			require.NoError(t, m.check(), "%v", path)
			key, steps := m.key(), m.steps()
			if m.asked != nil {
				m.say() // lets the goroutine end that asks futures
			}
			if seen[key] {
				continue
			}
			seen[key] = true
			if len(steps) == 0 {
				ends++
				require.Empty(t, m.unresolved(), "%v", path)
			}
			for _, step := range steps {
				paths = append(paths, append(path[:len(path):len(path)], step))
			}
		}
		t.Logf("%d states, %d ends", len(seen), ends)
		require.Positive(t, ends)
	}
}

// With a few callers, a writer yields only if postponing does not gather their requests.
func TestYieldWithFew(t *testing.T) {
	for name, c := range map[string]struct {
		alter  func(*queue)
		yields bool
	}{
		"postponing gathers them":               {func(*queue) {}, false},
		"it has not paid":                       {func(q *queue) { q.pause, q.sinceIdle = 1, burst }, true},
		"it has not paid, in a burst":           {func(q *queue) { q.pause, q.sinceIdle = 1, burst-1 }, false},
		"it has not paid, nothing is in flight": {func(q *queue) { q.pause, q.sinceIdle, q.head = 1, burst, nil }, false},
		"the server is far away":                {func(q *queue) { q.minTrip = postponeMost + 1 }, true},
		"the loop reads":                        {func(q *queue) { q.reading = readLoop }, true},
		"no batch is to wait":                   {func(q *queue) { q.opts.Yields = false }, true},
	} {
		q := newQueue(Opts{Yields: true})
		q.head, q.concurrency, q.minTrip = &batch{}, 8, postponeMost
		q.reading = readCaller
		c.alter(q)
		require.Equal(t, c.yields, q.startYield() != 0, name)
	}
}

// If callers send to several servers, the concurrency at all servers together counts. From wide
// concurrent requests on, the writer yields if postponing does not pay. In a crowd it always
// yields.
func TestYieldWithOthers(t *testing.T) {
	for _, c := range []struct {
		pending int64
		pause   int
		yields  bool
	}{{wide - 1, 1, false}, {wide, 1, true}, {wide, 0, false}, {crowdEnds, 0, true}} {
		q := newTestQueue(100, 1000)
		q.state, q.session, q.reading, q.opts.Yields = Connected, testSession(), readCaller, true
		q.Shares(func() int64 { return c.pending })
		q.put(1, nil)
		_, _ = q.take(true)
		q.pause = c.pause
		q.put(1, nil)
		require.Equal(t, c.yields, q.startYield() != 0, "%+v", c)
		require.Equal(t, c.pending == crowdEnds, q.crowded.Load(), "%+v", c)
	}
}

// A sender that takes over the right to write, because the batch is large enough, does not yield.
// Otherwise each later sender would take the right from the sender before it.
func TestYieldEndsWithEnough(t *testing.T) {
	q := newTestQueue(1000, 10000)
	q.state, q.session, q.reading = Connected, testSession(), readLoop
	q.concurrency, q.head, q.pending = 2*crowdBegins, &batch{}, 3*crowdBegins
	q.crowded.Store(true)
	q.put(1, nil)
	require.NotZero(t, q.startYield())
	for !q.enough() {
		q.put(1, nil)
	}
	require.Zero(t, q.yielding, "the last has taken over")
	require.Zero(t, q.startYield())
	q.put(1, nil)
	require.True(t, q.writing)
}

// If no request has entered while a sender yielded, the sender leaves the batch to the writer
// goroutine, because it may be about to send more.
func TestYieldThatGathersNothing(t *testing.T) {
	future := func() *queue {
		q := newTestQueue(100, 1000)
		q.state, q.session, q.reading = Connected, testSession(), readLoop
		q.head, q.pending = &batch{items: make([]item, 1)}, 1
		q.put(1, redis.FuncFuture(func(any, uint64) {}))
		require.NotZero(t, q.startYield())
		return q
	}
	for name, c := range map[string]struct {
		alter  func(*queue)
		writer bool // the writer goroutine yields, not a sender
		passes bool
	}{
		"it may":                    {alter: func(*queue) {}, passes: true},
		"it is the writer":          {alter: func(*queue) {}, writer: true},
		"others have sent":          {alter: func(q *queue) { q.put(1, nil) }},
		"it waits for the answer":   {alter: func(q *queue) { q.open.items[0].caller = &modelCaller{} }},
		"nothing is in flight":      {alter: func(q *queue) { q.head = nil }},
		"its request was withdrawn": {alter: func(q *queue) { q.Withdraw(q.open.items[0].seq) }},
	} {
		q := future()
		c.alter(q)
		mine, again := q.endYield(q.yielding, !c.writer)
		require.Equal(t, !c.passes, mine, name)
		require.Zero(t, again, name)
		require.True(t, q.writing, name)
		require.Equal(t, c.passes, len(q.session.wake) == 1, name)
	}
}

// sinceIdle counts batches from the one that was taken when nothing was in flight.
func TestBatchesInARow(t *testing.T) {
	m := inFlightModel()
	require.Equal(t, 1, m.q.sinceIdle)
	m.age = 2 * postponeMost // so old that nothing is postponed
	for _, step := range []string{"call", "take", "wrote"} {
		m.do(step)
	}
	require.Equal(t, 2, m.q.sinceIdle)
	for _, step := range []string{"answer", "answer", "pass", "call", "write", "take"} {
		m.do(step)
	}
	require.Equal(t, 1, m.q.sinceIdle)
}
