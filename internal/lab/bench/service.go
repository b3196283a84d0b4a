package main

import (
	"context"
	"fmt"
	"time"

	"github.com/joomcode/redispipe/internal/lab/bench/hist"
	"github.com/joomcode/redispipe/internal/lab/bench/peer"
)

// task is what a caller does instead of SET and GET.
type task string

const (
	queueTask   task = "queue"       // in turn a push and a blocking pop, all on one list
	limiterTask task = "limiter"     // a script, on the caller's own key
	boardTask   task = "leaderboard" // in turn a score of one of boardPlayers, and the ten best
)

const (
	queueList    = "bench:queue"
	boardKey     = "bench:board"
	boardPlayers = 1000
	boardTop     = 10
	// limiterLimit is never reached, so all answers are the same.
	limiterLimit = 1 << 40
)

// serviceCallers are the numbers of callers of each task. handOvers are the numbers of pairs that
// hand over elements.
var (
	serviceCallers = []int{1, 8, 128}
	handOvers      = []int{1, 8}
)

func (t task) caseID(callers int) string { return fmt.Sprintf("%s-c%d", t, callers) }

func handOverID(pairs int) string { return fmt.Sprintf("handover-%d", pairs) }

func serviceCases() (cases []Case) {
	for _, t := range []task{queueTask, limiterTask, boardTask} {
		for _, n := range serviceCallers {
			c := callers(n)
			c.ID, c.Text, c.Task, c.OnlyFull = t.caseID(n), fmt.Sprintf("%s, %s", t, c.Text), t, true
			cases = append(cases, c)
		}
	}
	for _, n := range handOvers {
		cases = append(cases, Case{
			ID: handOverID(n), Text: fmt.Sprintf("from push to blocking pop, %d at once", n),
			Kind: handingOver, Callers: n, OnlyFull: true,
		})
	}
	return cases
}

// taskStep returns the step of a task.
func (l *loop) taskStep(t task, s peer.Service) step {
	return map[task]step{
		queueTask: func(ctx context.Context, w *caller, first bool) error {
			if first {
				return s.Push(ctx, queueList, l.value)
			}
			job, err := s.Pop(ctx, queueList)
			return wrong(err, len(job) == len(l.value))
		},
		limiterTask: func(ctx context.Context, w *caller, _ bool) error {
			allowed, err := s.Allow(ctx, w.keys[0], limiterLimit)
			return wrong(err, allowed)
		},
		boardTask: func(ctx context.Context, w *caller, first bool) error {
			if first {
				return s.Score(ctx, boardKey, fmt.Sprint("player:", w.ops/2%boardPlayers), float64(w.ops))
			}
			top, err := s.Top(ctx, boardKey, boardTop)
			return wrong(err, len(top) > 0)
		},
	}[t]
}

// wrong returns err or, if the answer is not right, ErrWrong.
func wrong(err error, right bool) error {
	if err == nil && !right {
		return peer.ErrWrong
	}
	return err
}

// measureHandOver measures, for pairs of goroutines, the time from the call that pushes an element
// until the waiting blocking pop returns.
func (b *bed) measureHandOver(c peer.Client) (values, error) {
	h := handOver{service: c.(peer.Service)}
	for i := range b.Case.Callers {
		h.lists = append(h.lists, fmt.Sprintf("bench:handover:%d", i))
	}
	if _, err := h.run(b.Duration / warmUp); err != nil {
		return nil, err
	}
	took, err := h.run(b.Duration)
	if err != nil {
		return nil, err
	}
	v := values{}
	v.latencies(took)
	return v, nil
}

// handOver has a list for each pair.
type handOver struct {
	service peer.Service
	lists   []string
}

// rest is how long a popper takes at most until it waits again.
const rest = 300 * time.Microsecond

func (h handOver) run(d time.Duration) (*hist.Hist, error) {
	type result struct {
		took *hist.Hist
		err  error
	}
	results := make(chan result, len(h.lists))
	end := time.Now().Add(d)
	for _, list := range h.lists {
		go func() {
			took, err := h.pair(list, end)
			results <- result{took, err}
		}()
	}
	total := &hist.Hist{}
	var first error
	for range h.lists {
		r := <-results
		total.Merge(r.took)
		if first == nil {
			first = r.err
		}
	}
	return total, first
}

// lastJob makes a popper end.
const lastJob = "the last one"

// pair hands over elements one by one, until the time end.
func (h handOver) pair(list string, end time.Time) (*hist.Hist, error) {
	ctx := context.Background()
	popped, ended := make(chan time.Time, 1), make(chan error, 1)
	go func() { // ends with the last job or an error, at most popTimeout after the pair
		for {
			job, err := h.service.Pop(ctx, list)
			if err != nil || string(job) == lastJob {
				ended <- err
				return
			}
			popped <- time.Now()
		}
	}()
	took := &hist.Hist{}
	for time.Now().Before(end) {
		time.Sleep(rest)
		begin := time.Now()
		if err := h.service.Push(ctx, list, []byte("job")); err != nil {
			return took, err
		}
		select {
		case at := <-popped:
			took.Record(at.Sub(begin))
		case err := <-ended:
			return took, err
		}
	}
	if err := h.service.Push(ctx, list, []byte(lastJob)); err != nil {
		return took, err
	}
	return took, <-ended
}
