package torture

import (
	"context"
	"fmt"
	"math/rand"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/redis"
)

// Jobs are workers on one queue, each with its own redis.JobReader. At random, loops are cancelled
// and workers die. Each payload is pushed once.
type Jobs struct {
	// Connect returns the sender of a worker, and a function that closes it when the worker dies.
	Connect func() (redis.Sender, func(), error)
	Opts    redis.JobOpts
	Seed    int64
	Workers int

	// Cancelled counts the loops whose contexts ended. Deaths counts the workers that died while
	// they held a job.
	Cancelled, Deaths atomic.Int64
	// Unknown counts the errors with an unknown outcome, and UnknownAcks those among them that
	// concern an acknowledgement. Taken counts the jobs that another worker took over, as reported
	// to workers.
	Unknown, UnknownAcks, Taken atomic.Int64

	mu    sync.Mutex // guards times
	times map[string]int
}

// Run runs the workers until ctx ends.
func (j *Jobs) Run(ctx context.Context) error {
	failed := make(chan error, j.Workers)
	var wg sync.WaitGroup
	for i := range j.Workers {
		rnd := rand.New(rand.NewSource(j.Seed*6007 + int64(i)))
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := j.live(ctx, rnd); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(failed)
	return <-failed
}

// live runs a worker until it dies.
func (j *Jobs) live(ctx context.Context, rnd *rand.Rand) error {
	sender, end, err := j.Connect()
	if err != nil {
		return err
	}
	defer end()
	reader, err := redis.NewJobReader(sender, j.Opts)
	for most := loopsFor; err == nil && ctx.Err() == nil; {
		one, cancel := context.WithTimeout(ctx, time.Duration(rnd.Int63n(int64(most))))
		jobs, died := j.work(one, reader, rnd, end)
		cancel()
		if died {
			break
		}
		j.Cancelled.Add(1)
		if jobs > 0 {
			most = loopsFor
		} else {
			most = min(2*most, 50*loopsFor)
		}
	}
	return err
}

// loopsFor is how long a loop runs, at most, before it is cancelled. If a loop gets no job, the
// next one may run longer, because on a busy machine it may take that long to make a connection.
const loopsFor = 200 * time.Millisecond

// work handles jobs until ctx ends or the worker dies.
func (j *Jobs) work(ctx context.Context, reader *redis.JobReader, rnd *rand.Rand, end func()) (jobs int, died bool) {
	for job, err := range reader.Jobs(ctx) {
		if err != nil {
			j.note(err)
			continue
		}
		jobs++
		j.deliver(string(job.Payload))
		time.Sleep(time.Duration(rnd.Intn(1000)) * time.Microsecond) // stands for the work on the job
		if dies := rnd.Intn(400); dies < 2 {
			j.Deaths.Add(1)
			if dies == 0 {
				end() // otherwise the loop still returns the error of its end
			}
			return jobs, true
		}
		reader.Ack(job)
	}
	return jobs, false
}

func (j *Jobs) note(err error) {
	failure := redis.AsErrorx(err)
	if failure.IsOfType(redis.ErrJobTaken) {
		j.Taken.Add(1)
		return
	}
	if redis.OutcomeOf(err) != redis.OutcomeUnknown {
		return
	}
	j.Unknown.Add(1)
	if p, ok := failure.Property(redis.EKRequest); ok {
		if req, ok := p.(redis.Request); ok && req.Cmd == "LREM" {
			j.UnknownAcks.Add(1)
		}
	}
}

func (j *Jobs) deliver(job string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.times == nil {
		j.times = map[string]int{}
	}
	j.times[job]++
}

// Delivered returns the number of delivered jobs, and the number of deliveries in addition to the
// first of each job.
func (j *Jobs) Delivered() (jobs, again int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, n := range j.times {
		again += n - 1
	}
	return len(j.times), again
}

// String prints what happened.
func (j *Jobs) String() string {
	jobs, again := j.Delivered()
	return fmt.Sprintf("%d jobs delivered, %d times again; %d loops cancelled, %d workers died, %d errors of unknown outcome (%d of acknowledgements), %d jobs taken over",
		jobs, again, j.Cancelled.Load(), j.Deaths.Load(), j.Unknown.Load(), j.UnknownAcks.Load(), j.Taken.Load())
}
