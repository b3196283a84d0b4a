package oracle

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// toyQueue is a client of lists with a method that a planted bug replaces.
type toyQueue struct {
	lists map[string][]string
	rnd   *rand.Rand
	// pop returns the client's answer to a pop. push returns the client's answer to a push, given
	// the server's reply.
	pop  func(q *toyQueue, key string) any
	push func(q *toyQueue, res any) any
	last any
}

// take pops an element as the server does. It loses one reply in ten, and one request in ten.
func (q *toyQueue) take(key string) any {
	switch lost := q.rnd.Intn(10); {
	case lost == 0:
		return errToyNotSent
	case len(q.lists[key]) == 0:
		return nil
	default:
		tag := q.lists[key][0]
		q.lists[key] = q.lists[key][1:]
		if lost == 1 {
			return errToyUnknown
		}
		return []any{[]byte(key), []byte(tag)}
	}
}

func (q *toyQueue) add(key, tag string) any {
	lost := q.rnd.Intn(10)
	if lost == 0 {
		return errToyNotSent
	}
	q.lists[key] = append(q.lists[key], tag)
	if lost == 1 {
		return errToyUnknown
	}
	return int64(len(q.lists[key]))
}

// runToyQueue judges a toy with pushes and pops.
func runToyQueue(seed int64, plant func(q *toyQueue)) (*Report, Tally) {
	q := &toyQueue{
		lists: map[string][]string{}, rnd: rand.New(rand.NewSource(seed)),
		pop: (*toyQueue).take, push: func(_ *toyQueue, res any) any { return res },
	}
	plant(q)
	ledger := NewLedger("toy")
	witness := NewQueue(ledger)
	for i := range 4000 {
		key := fmt.Sprintf("list:%d", i%2)
		if q.rnd.Intn(2) == 0 {
			_, id := witness.Push(key, q.rnd.Intn(2))
			ledger.Resolve(q.push(q, q.add(key, ledger.Tag(id))), id)
		} else {
			witness.Pop(key, q.rnd.Intn(2)).Resolve(q.pop(q, key))
		}
	}
	report := ledger.Finish(time.Millisecond)
	_ = witness.Verify(func(key string) ([]string, error) { return q.lists[key], nil })
	return report, witness.Tally()
}

// rarely returns a planted bug: sometimes, bug replaces a toy's answer to a pop.
func rarely(bug func(q *toyQueue, key string, res []any) any) func(q *toyQueue) {
	return func(q *toyQueue) {
		q.pop = func(q *toyQueue, key string) any {
			res := q.take(key)
			if popped, ok := res.([]any); ok && q.rnd.Intn(5) == 0 {
				return bug(q, key, popped)
			}
			return res
		}
	}
}

// T0 for pops: the oracle finds each of these bugs. Otherwise a run without violations would prove
// nothing.
func TestT0PlantedBugsOfPopsAreCaught(t *testing.T) {
	for name, tt := range map[string]struct {
		plant func(q *toyQueue)
		want  Violation
	}{
		"drop what was popped at the last moment": {rarely(func(*toyQueue, string, []any) any { return errToyNotSent }), Missing},
		"take what was popped for nothing":        {rarely(func(*toyQueue, string, []any) any { return nil }), Missing},
		"deliver twice": {rarely(func(q *toyQueue, key string, res []any) any {
			q.lists[key] = slices.Insert(q.lists[key], 0, string(res[1].([]byte)))
			return res
		}), Duplicated},
		"deliver what another list had": {rarely(func(_ *toyQueue, _ string, res []any) any {
			return []any{[]byte("list:other"), res[1]}
		}), Mixed},
		"deliver what nobody pushed": {rarely(func(_ *toyQueue, _ string, res []any) any {
			return []any{res[0], []byte("toy:x")}
		}), Mixed},
		"deliver in another order": {rarely(func(q *toyQueue, key string, res []any) any {
			last := q.last
			q.last = res
			if last == nil || string(last.([]any)[0].([]byte)) != key {
				return errToyUnknown
			}
			return last
		}), Disordered},
		"call a push not sent": {func(q *toyQueue) {
			q.push = func(_ *toyQueue, res any) any {
				if res == any(errToyUnknown) {
					return errToyNotSent
				}
				return res
			}
		}, FalseNotSent},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range int64(3) {
				report, _ := runToyQueue(seed, tt.plant)
				require.Positive(t, report.Count(tt.want), "seed %d: %s: %v", seed, tt.want, report)
			}
		})
	}
}

func TestT0CleanPopsPass(t *testing.T) {
	for seed := range int64(10) {
		report, tally := runToyQueue(seed, func(*toyQueue) {})
		require.False(t, report.Failed(), "seed %d: %v", seed, report)
		require.Positive(t, tally.Delivered)
		require.Positive(t, tally.Missing)
		require.LessOrEqual(t, tally.Missing, tally.UnknownPops)
		require.Equal(t, tally.Pushed, tally.Delivered+tally.Left+tally.Missing)
	}
}
