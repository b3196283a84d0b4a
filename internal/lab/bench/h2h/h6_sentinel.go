package h2h

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/joomcode/redispipe/internal/lab/torture"
	"github.com/joomcode/redispipe/testbed"
)

const (
	// Each of failoverCallers pushes to its own list and pauses after each push, so that the
	// client's load is small compared with that of the servers.
	failoverCallers = 16
	failoverRest    = time.Millisecond
	// failoverGap is the shortest time without a write that counts as an outage.
	failoverGap = 5 * time.Millisecond
	// failoverMargin is how long before a failover an outage may begin and still be attributed to
	// that failover.
	failoverMargin = 100 * time.Millisecond
	// failoverPause is the time without faults between two failovers.
	failoverPause = 500 * time.Millisecond
	// failoverStay is how long an old master still acts as a master. Sentinels would leave it in
	// that role for 10 to 30 s, which would allow only few failovers.
	failoverStay = 2 * time.Second
)

// failover replaces a master, and returns when the sentinels name another one.
type failover func(g *testbed.Group, old *testbed.Server) error

// failovers are the scenarios with a master that sentinels watch.
func failovers() []scenario {
	return []scenario{
		failoverScenario("H6a", "Three sentinels replace a master gracefully, again and again: it holds its clients back meanwhile.",
			func(g *testbed.Group, _ *testbed.Server) error {
				_, err := g.Failover(testbed.Graceful)
				return err
			}),
		failoverScenario("H6b", "They replace a master that is killed (SIGKILL), and comes back as a master for 2 s.",
			func(g *testbed.Group, old *testbed.Server) error {
				if err := old.Kill(); err != nil {
					return err
				}
				if _, err := g.WaitPromoted(old); err != nil {
					return err
				}
				return old.Restart() // the old master claims to be a master
			}),
	}
}

func failoverScenario(id, text string, how failover) scenario {
	return scenario{
		id: id, text: text + " 16 goroutines each push numbers to a list of their own, with a deadline of 2 s.",
		columns: []string{
			"failovers", "acknowledged", "errors", "executed twice", "acknowledged and lost: not replicated / by a replaced master / unexplained",
			"writes on the old master after the announcement", "longest without a write, median / worst",
			"writes again after the announcement, median / p95 / worst",
		},
		sentinel: true, lasts: 10,
		stage: func() (*stage, error) {
			group, err := testbed.StartGroup(testbed.GroupOptions{
				Options: testbed.Options{Persist: true}, Sentinels: 3, Timeout: time.Minute,
			})
			if err != nil {
				return nil, err
			}
			f := &failoverStage{group: group, how: how, ended: make(chan struct{}), witness: watchGroup(group)}
			return &stage{sentinels: group.SentinelAddrs(), fault: f.run, score: f.score, close: group.Close}, nil
		},
		act: pushThroughFailovers,
	}
}

// failoverStage makes failovers until the child is done.
type failoverStage struct {
	group *testbed.Group
	how   failover

	ended   chan struct{} // closed when run has returned; until then only run uses the fields below
	seen    []seenFailover
	until   time.Time // when the last failover began whose end the client did not see
	err     error
	witness *witness
}

// seenFailover is one failover.
type seenFailover struct{ began, announced time.Time }

func (s *failoverStage) run(done <-chan struct{}) {
	defer close(s.ended)
	for s.err == nil {
		select {
		case <-done:
			return
		case <-time.After(failoverPause):
		}
		s.until = time.Now()
		s.err = s.once()
		select {
		case <-done: // during a failover
			return
		default:
			s.until = time.Now()
		}
	}
}

// once makes one failover, and returns when the group has settled.
func (s *failoverStage) once() error {
	old, err := s.group.Master()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	announced := make(chan time.Time, 1)
	f := seenFailover{began: time.Now()}
	go func() { // ends with ctx
		at, _ := torture.Announced(ctx, s.group, s.group.SentinelAddrs(), old)
		announced <- at
	}()
	if err := s.how(s.group, old); err != nil {
		return err
	}
	f.announced = <-announced
	s.seen = append(s.seen, f)
	time.Sleep(failoverStay)
	promoted, err := s.group.WaitPromoted(old) // the sentinels may have promoted yet another server by now
	if err != nil {
		return err
	}
	if err := s.group.Promote(promoted); err != nil { // like an operator who does not wait until the sentinels demote the old master
		return err
	}
	return s.group.WaitSettled(promoted)
}

// pushThroughFailovers pushes ids, and records the outages.
func pushThroughFailovers(a *act) error {
	s, err := a.open()
	if err != nil {
		return err
	}
	if err := a.ready(); err != nil {
		return err
	}
	var mu sync.Mutex // guards found and last
	found := finding{Issued: make([]int, failoverCallers)}
	last := time.Now()
	end := last.Add(a.Duration)
	var wg sync.WaitGroup
	for g := range failoverCallers {
		wg.Go(func() {
			for i := 0; time.Now().Before(end); i++ {
				id := fmt.Sprintf("id:%d:%d:", g, i)
				ctx, cancel := deadline(2 * time.Second)
				_, err := s.Do(ctx, "RPUSH", "log:"+strconv.Itoa(g), id)
				cancel()
				now := time.Now()
				mu.Lock()
				found.Issued[g]++
				switch {
				case err != nil:
					found.Refused = append(found.Refused, refusal{id, a.promised(err)})
				case now.Sub(last) >= failoverGap:
					found.Gaps = append(found.Gaps, torture.Gap{From: last, To: now})
					fallthrough
				default:
					last = now
				}
				mu.Unlock()
				time.Sleep(failoverRest)
			}
		})
	}
	wg.Wait()
	if end.Sub(last) >= failoverGap {
		found.Gaps = append(found.Gaps, torture.Gap{From: last, To: end})
	}
	return a.found(found)
}

// score compares the replies that callers got with the contents of the last master and with the
// writes that masters ran.
func (s *failoverStage) score(f *finding) {
	<-s.ended
	master, err := s.group.Master()
	if err == nil {
		err = s.err
	}
	var executed map[string]int
	if err == nil {
		executed, err = readLists(master.Addr())
	}
	if err != nil {
		f.Values = map[string]string{"failovers": err.Error()}
		return
	}
	refused := make(map[string]bool, len(f.Refused))
	for _, r := range f.Refused {
		refused[r.ID] = true
	}
	ran, late := s.witness.ran()
	acknowledged, twice := 0, 0
	var lost lostWrites
	for g, issued := range f.Issued {
		for i := range issued {
			id := fmt.Sprintf("id:%d:%d:", g, i)
			if n := executed[id]; n > 1 {
				twice += n - 1
			}
			if refused[id] {
				continue
			}
			acknowledged++
			if executed[id] == 0 {
				lost.add(ran[id])
			}
		}
	}
	outages, resumed := s.outages(f.Gaps)
	f.Values = map[string]string{
		"failovers": fmt.Sprint(len(s.seen)), "acknowledged": fmt.Sprint(acknowledged),
		"errors": fmt.Sprint(len(f.Refused)), "executed twice": fmt.Sprint(twice),
		"acknowledged and lost: not replicated / by a replaced master / unexplained": lost.String(),
		"writes on the old master after the announcement":                            fmt.Sprint(late),
		"longest without a write, median / worst":                                    quantiles(outages, 50, 100),
		"writes again after the announcement, median / p95 / worst":                  quantiles(resumed, 50, 95, 100),
	}
}

// outages returns, for each failover, the longest time without a write, and the time from the
// announcement of the new master to the end of that time.
func (s *failoverStage) outages(gaps []torture.Gap) (lasted, resumed []time.Duration) {
	lasted, resumed = make([]time.Duration, len(s.seen)), make([]time.Duration, len(s.seen))
	for i, one := range s.seen {
		next := s.until
		if i+1 < len(s.seen) {
			next = s.seen[i+1].began
		}
		for _, g := range gaps {
			if g.To.After(one.began) && g.From.Before(next.Add(-failoverMargin)) && g.To.Sub(g.From) > lasted[i] {
				lasted[i], resumed[i] = g.To.Sub(g.From), max(0, g.To.Sub(one.announced))
			}
		}
	}
	return lasted, resumed
}

// quantiles formats the given percentiles of a sorted list.
func quantiles(list []time.Duration, percents ...int) (text string) {
	if len(list) == 0 {
		return "–"
	}
	list = slices.Sorted(slices.Values(list))
	for i, p := range percents {
		if i > 0 {
			text += " / "
		}
		text += list[(len(list)-1)*p/100].Round(time.Millisecond).String()
	}
	return text
}
