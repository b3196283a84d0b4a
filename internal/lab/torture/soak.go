package torture

import (
	"context"
	"fmt"
	"maps"
	"math/rand"
	"sync"
	"time"

	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redisconn"
)

// SoakOpts are the options of Soak.
type SoakOpts struct {
	// Seed is the seed of all random choices.
	Seed int64
	// Cluster puts a cluster under load, instead of one connection.
	Cluster bool
	// Duration is the length of the soak. Round, default 20 s, is how long a load runs between two
	// judgements. FaultEvery, default 5 s, is the mean pause between two faults.
	Duration, Round, FaultEvery time.Duration
	// Logf, if set, gets a line per round.
	Logf func(format string, args ...any)
}

func (o SoakOpts) withDefaults() SoakOpts {
	if o.Round <= 0 {
		o.Round = 20 * time.Second
	}
	if o.FaultEvery <= 0 {
		o.FaultEvery = 5 * time.Second
	}
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
	return o
}

// stage has what a Soak needs: servers, a client, its witnesses, and ways to break things. Soak
// makes the random choices and counts in its totals.
type stage interface {
	// begin prepares a round: a client, with or without the integrity option,
	// and a new ledger.
	begin(round int, name string) error
	// load returns a load on the client.
	load(workers int) *Load
	// pops returns blocking pops on the client that run in addition to the load, or nil.
	pops() *Pops
	// fault makes one random fault, and undoes it after a while or when ctx ends.
	fault(ctx context.Context) error
	// judge waits until everything works again, and checks the results of the round.
	judge() (*oracle.Report, error)
	// clear deletes the keys that the round has left on the servers.
	clear() error
	// about describes the round.
	about() string
	// close closes everything, and reports goroutines that are left.
	close() *oracle.Report
}

// Soak is T22: loads of all kinds on one connection or a cluster, with random faults in the servers
// and between them and the client. Each round is judged. Soak ends early at the first violation, or
// when ctx ends.
func Soak(ctx context.Context, o SoakOpts) (*Totals, error) {
	o = o.withDefaults()
	s := &soak{SoakOpts: o, rnd: rand.New(rand.NewSource(o.Seed)), totals: &Totals{Faults: map[string]int{}}}
	newStage := newConnStage
	if o.Cluster {
		newStage = newClusterStage
	}
	var err error
	if s.stage, err = newStage(s.name(), o.Seed, s.rnd, s.totals); err != nil {
		return nil, err
	}
	err = s.run(ctx)
	s.totals.Report.Add(s.stage.close()) // goroutines left over
	return s.totals, err
}

type soak struct {
	SoakOpts
	stage  stage
	rnd    *rand.Rand
	totals *Totals
}

func (s *soak) name() string { return fmt.Sprintf("soak%d", s.Seed) }

func (s *soak) run(ctx context.Context) error {
	begin := time.Now()
	for time.Since(begin) < s.Duration && ctx.Err() == nil && !s.totals.Report.Failed() {
		if err := s.round(ctx, min(s.Round, s.Duration-time.Since(begin))); err != nil {
			return fmt.Errorf("round %d: %w", s.totals.Rounds, err)
		}
		s.totals.Took = time.Since(begin)
	}
	return nil
}

// round runs one load with faults and judges it.
func (s *soak) round(ctx context.Context, d time.Duration) error {
	n := s.totals.Rounds
	if err := s.stage.begin(n, fmt.Sprintf("%s-%d", s.name(), n)); err != nil {
		return err
	}
	load, pops, before := s.load(), s.stage.pops(), maps.Clone(s.totals.Faults)
	if err := s.play(ctx, d, load, pops); err != nil {
		return err
	}
	report, err := s.stage.judge()
	if err != nil {
		return err
	}
	if pops != nil {
		s.totals.Pops.Add(pops.Queue.Tally())
	}
	s.Logf("round %d: %d workers, window %d, deadline %v, %s; faults %v: %v",
		n, load.Workers, load.Window, load.Timeout, s.stage.about(), since(before, s.totals.Faults), report)
	return s.finish(report)
}

// play runs a load, together with pops, and makes faults at the same time.
func (s *soak) play(ctx context.Context, d time.Duration, load *Load, pops *Pops) error {
	loadCtx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop() // the load runs until the last fault is undone
	wg.Go(func() { load.Run(loadCtx) })
	if pops != nil {
		wg.Go(func() { pops.Run(loadCtx, 0) })
	}
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	for ctx.Err() == nil {
		wait := time.Duration(s.rnd.Int63n(int64(2 * s.FaultEvery)))
		select {
		case <-time.After(wait):
			if err := s.stage.fault(ctx); err != nil {
				return err
			}
		case <-ctx.Done():
		}
	}
	return nil
}

func since(before, after map[string]int) map[string]int {
	diff := map[string]int{}
	for kind, n := range after {
		if n > before[kind] {
			diff[kind] = n - before[kind]
		}
	}
	return diff
}

// finish adds a round to the totals, and drops its data.
func (s *soak) finish(report *oracle.Report) error {
	s.totals.Rounds++
	s.totals.Report.Add(report)
	err := s.stage.clear()
	s.totals.Samples = append(s.totals.Samples, oracle.TakeSample(true))
	return err
}

// load returns a load with random parameters.
func (s *soak) load() *Load {
	load := s.stage.load(1 + s.rnd.Intn(32))
	load.Seed = s.rnd.Int63()
	load.Window = 1 << s.rnd.Intn(7)
	load.MaxValue = 64 << s.rnd.Intn(9)
	load.Pause = time.Millisecond
	if s.rnd.Intn(3) == 0 {
		load.Timeout = time.Duration(1+s.rnd.Intn(100)) * time.Millisecond
	}
	return load
}

// changes tells for a round whether it has a new client, and whether that client has the integrity
// option. Each round with the option is between two rounds without it.
func changes(round int) (anew, integrity bool) { return round%3 != 1, round%3 == 2 }

func soakConn(integrity bool) redisconn.Opts {
	return redisconn.Opts{
		IOTimeout: 300 * time.Millisecond, DialTimeout: 300 * time.Millisecond,
		ReconnectPause: 20 * time.Millisecond, ReconnectPauseMax: 200 * time.Millisecond,
		MaxRequests: 10_000, Integrity: integrity, DedicatedConns: soakPoppers,
	}
}

// meanwhile calls do, waits for d or until ctx is done, and calls undo.
func meanwhile(ctx context.Context, d time.Duration, do, undo func() error) error {
	if err := do(); err != nil {
		return err
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return undo()
}
