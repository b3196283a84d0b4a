package torture

import (
	"context"
	"fmt"
	"maps"
	"math/rand"
	"sync"
	"time"

	"github.com/joomcode/redispipe/internal/oracle"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// SoakOpts are the options of Soak.
type SoakOpts struct {
	// Seed of all random choices.
	Seed int64
	// Duration of the whole. Round, default 20 s, is how long a load runs
	// between two judgements, FaultEvery, default 5 s, the mean pause between
	// two faults.
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

// Totals are what a Soak did and found.
type Totals struct {
	Report    oracle.Report
	Precision Precision
	// Faults counts those that happened, by kind.
	Faults map[string]int
	Rounds int
	Took   time.Duration
	// Samples are taken after a garbage collection, at the end of each round,
	// when nothing is in flight.
	Samples []oracle.Sample
}

// Slopes are the growth of the heap, in bytes, and of goroutines and file
// descriptors per hour, in the second half of the samples: the first half fills
// pools and caches.
func (t *Totals) Slopes() (heap, goroutines, fds float64) {
	late := t.Samples[len(t.Samples)/2:]
	return oracle.Slope(late, func(s oracle.Sample) float64 { return float64(s.HeapInuse) }),
		oracle.Slope(late, func(s oracle.Sample) float64 { return float64(s.Goroutines) }),
		oracle.Slope(late, func(s oracle.Sample) float64 { return float64(s.FDs) })
}

// String prints the totals.
func (t *Totals) String() string {
	heap, goroutines, fds := t.Slopes()
	requests := t.Report.Requests()
	return fmt.Sprintf(`time          %.3f h, %d rounds
requests      %d (%.0f/s)
outcomes      %v
not sent      precision %.4f%%: %d told by the proxy's log, %d false
faults        %v
slopes        heap %+.1f KiB/h, goroutines %+.2f/h, descriptors %+.2f/h (%d samples)`,
		t.Took.Hours(), t.Rounds, requests, float64(requests)/t.Took.Seconds(), &t.Report,
		100*t.Precision.Share(), t.Precision.NotSent, t.Precision.False,
		t.Faults, heap/1024, goroutines, fds, len(t.Samples)-len(t.Samples)/2)
}

// Soak is T22: loads of all shapes on one connection, random faults between it
// and its server and in the server itself, a judgement after each round. It
// ends early at the first violation, or with ctx.
func Soak(ctx context.Context, o SoakOpts) (*Totals, error) {
	o = o.withDefaults()
	r, err := NewRig(RigOpts{
		Name: fmt.Sprintf("soak%d", o.Seed), Seed: o.Seed,
		ServerOpts: testbed.Options{Persist: true},
		Conn:       soakConn(false),
	})
	if err != nil {
		return nil, err
	}
	s := &soak{SoakOpts: o, rig: r, rnd: rand.New(rand.NewSource(o.Seed)), totals: &Totals{Faults: map[string]int{}}}
	err = s.run(ctx)
	r.Close()
	s.totals.Report.Add(r.Ledger.Report) // goroutines left over
	return s.totals, err
}

func soakConn(integrity bool) redisconn.Opts {
	return redisconn.Opts{
		IOTimeout: 300 * time.Millisecond, DialTimeout: 300 * time.Millisecond,
		ReconnectPause: 20 * time.Millisecond, ReconnectPauseMax: 200 * time.Millisecond,
		MaxRequests: 10_000, Integrity: integrity,
	}
}

type soak struct {
	SoakOpts
	rig    *Rig
	rnd    *rand.Rand
	totals *Totals
}

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

// round runs one load with faults, and judges it.
func (s *soak) round(ctx context.Context, d time.Duration) error {
	r, n := s.rig, s.totals.Rounds
	integrity := n%3 == 2
	if n%3 != 1 { // rounds with the integrity option are between two without
		if err := r.Connect(soakConn(integrity)); err != nil {
			return err
		}
	}
	r.NewLedger(fmt.Sprintf("soak%d-%d", s.Seed, n))
	load := s.load()
	ctx, stop := context.WithTimeout(ctx, d)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { load.Run(ctx) })
	before := maps.Clone(s.totals.Faults)
	for ctx.Err() == nil {
		wait := time.Duration(s.rnd.Int63n(int64(2 * s.FaultEvery)))
		select {
		case <-time.After(wait):
			if err := s.fault(ctx, integrity); err != nil {
				return err
			}
		case <-ctx.Done():
		}
	}
	wg.Wait()
	r.Proxy.Heal()
	if _, err := r.WaitConnected(10 * time.Second); err != nil {
		return err
	}
	report, precision, err := r.Judge(5 * time.Second)
	if err != nil {
		return err
	}
	s.finish(report, precision)
	s.Logf("round %d: %d workers, window %d, deadline %v, integrity %v; faults %v: %v",
		n, load.Workers, load.Window, load.Timeout, integrity, since(before, s.totals.Faults), report)
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

// finish adds a round to the totals, and forgets what it held.
func (s *soak) finish(report *oracle.Report, precision Precision) {
	s.totals.Rounds++
	s.totals.Report.Add(report)
	s.totals.Precision.add(precision)
	s.rig.Proxy.TakeLog()
	s.rig.Server.Do("FLUSHALL")
	s.rig.NewLedger("idle")
	s.totals.Samples = append(s.totals.Samples, oracle.TakeSample(true))
}

// load draws the shape of a load.
func (s *soak) load() *Load {
	load := s.rig.Load(1+s.rnd.Intn(32), 0)
	load.Seed = s.rnd.Int63()
	load.Window = 1 << s.rnd.Intn(7)
	load.MaxValue = 64 << s.rnd.Intn(9)
	load.Pause = time.Millisecond
	if s.rnd.Intn(3) == 0 {
		load.Timeout = time.Duration(1+s.rnd.Intn(100)) * time.Millisecond
	}
	return load
}
