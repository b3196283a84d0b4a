package redis

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/errs"
)

// JobOpts are the options of a [JobReader]. Queue is required.
type JobOpts struct {
	// Queue is the key of a list.
	Queue string
	// Right takes jobs from the right end of the list, for producers that use LPUSH. Default: from
	// the left end, for producers that use RPUSH.
	Right bool
	// Ack keeps each job until [JobReader.Ack] is called for it. It needs Redis 6.2. The reader
	// then uses further keys in the queue's slot. Their names begin with the queue's name, in
	// braces unless the name has a hash tag.
	Ack bool
	// MinIdle is the time after which a job that was not acknowledged is delivered again: by this
	// reader while its loop runs, otherwise by another one. It must be longer than the work on one
	// job and longer than a failover. Otherwise two workers may work on a job at the same time.
	// Other readers get a dead worker's jobs within about twice MinIdle. Default 1 min, at least 1
	// s.
	MinIdle time.Duration
}

var (
	// ErrJob holds errors of a [JobReader].
	ErrJob = errs.ErrJob
	// ErrJobOpts: invalid options; nothing is sent.
	ErrJobOpts = errs.ErrJobOpts
	// ErrJobBusy: another loop over the same reader is running.
	ErrJobBusy = ErrJob.NewType("busy", errs.ErrTraitNotSent)
	// ErrJobTaken: jobs that the reader has delivered are no longer in its list and are delivered
	// again. Either the reader did not reach the server for longer than MinIdle, and another reader
	// has taken these jobs over, or a failover has undone that this reader took them. The loop
	// continues with other jobs.
	ErrJobTaken = ErrJob.NewType("taken")
)

const (
	jobMinIdle      = time.Minute
	jobMinIdleLeast = time.Second // bounds how often an idle worker sends: it checks in four times in MinIdle
	// jobBlockMost bounds how long a pop waits. If a worker dies, the server may still run its last
	// pop, but only until that time has passed.
	jobBlockMost = 5 * time.Second
)

func (o JobOpts) withDefaults() (JobOpts, error) {
	if o.Queue == "" {
		return o, ErrJobOpts.New("Queue must be set")
	}
	if o.Ack && jobPrefix(o.Queue) == "" {
		return o, ErrJobOpts.New("Queue has a closing brace but no hash tag: in a cluster the reader's other keys may have another slot")
	}
	if o.MinIdle <= 0 {
		o.MinIdle = jobMinIdle
	}
	o.MinIdle = max(o.MinIdle, jobMinIdleLeast)
	return o, nil
}

// jobPrefix returns the prefix of the keys that belong to a queue, which puts these keys in the
// queue's slot. It is empty if there is no such prefix.
func jobPrefix(queue string) string {
	if _, rest, open := strings.Cut(queue, "{"); open && strings.Index(rest, "}") > 0 {
		return queue
	}
	if strings.Contains(queue, "}") {
		return ""
	}
	return "{" + queue + "}"
}

// Job is a list element that a [JobReader] has delivered.
type Job struct {
	// Payload is the element. It must not be changed before the job is acknowledged.
	Payload []byte

	delivery *delivery // nil without Ack
}

// delivery is a job that a reader has taken out of the queue. It stays in the reader's list until
// it is acknowledged.
type delivery struct {
	payload []byte
	// JobReader.mu guards state, and at, which is when the job was last delivered, or zero
	state deliveryState
	at    time.Time
}

type deliveryState int

const (
	jobWaits  deliveryState = iota // to be delivered, perhaps again
	jobOpen                        // delivered
	jobAcked                       // Ack was called for it
	jobUnsure                      // its acknowledgement has an unknown outcome
)

// JobReader takes jobs out of a list, and continues after disconnects, failovers and restarts of
// the server. Without JobOpts.Ack it pops them. A job is lost if its worker dies, and may be lost
// if its pop has an unknown outcome. With Ack it delivers each job at least once: each reader moves
// the jobs that it takes to its own list. When a reader dies, another one moves the jobs in that
// list back to the queue.
//
//	for job, err := range reader.Jobs(ctx) {
//		if err != nil {
//			log.Print(err) // the reader continues
//			continue
//		}
//		work(job.Payload)
//		reader.Ack(job)
//	}
//
// Ack and Flush are safe for concurrent use; only one loop may run at a time. Each worker needs its
// own reader. Two jobs with equal payloads are the same job to a reader: if each of them matters,
// add an ID.
type JobReader struct {
	db   SyncCtx
	opts JobOpts
	busy atomic.Bool

	// turn is a mutex: a goroutine has it while its value is in the channel. It guards
	// acknowledging, and comparing the reader's list with held.
	turn chan struct{}
	// name is the name of the reader's list. Only the running loop changes it, while it holds turn.
	name string

	// The running loop owns the fields from here to mu. batch has the jobs to deliver.
	batch []*delivery
	// checked is when the reader last began to check in. doubt is set if a pop has had an unknown
	// outcome since then, so that the reader's list may have one more job. stray is set if any pop
	// ever had an unknown outcome, because such a pop may run late.
	checked      time.Time
	doubt, stray bool

	mu sync.Mutex // guards the fields below, and the states of deliveries
	// held are the jobs that are in the reader's list, as far as the reader knows.
	held map[*delivery]struct{}
	// most is the greatest number of jobs that were in the current list at the same time.
	most int
	// acked are the held jobs for which Ack was called.
	acked []*delivery
	// unsure is set if the outcome of an acknowledgement is unknown.
	unsure bool
}

// NewJobReader returns a reader. The reader sends nothing before its loop starts. Its pops block,
// on their own connection. If the Sender refuses blocking commands, the reader polls instead: once
// a second while there are no jobs, and more often while jobs come.
func NewJobReader(s Sender, opts JobOpts) (*JobReader, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, errs.Err(err)
	}
	return &JobReader{
		db: SyncCtx{S: s}, opts: opts, turn: make(chan struct{}, 1),
		name: rand.Text(), held: map[*delivery]struct{}{},
	}, nil
}

// check returns an error unless NewJobReader has returned r.
func (r *JobReader) check() error {
	if r == nil || r.turn == nil {
		return errs.Err(ErrJobOpts.New("the reader is nil or empty: NewJobReader makes one"))
	}
	return nil
}

// Ack marks jobs as done. The reader sends acknowledgements before it takes the next job, and when
// the loop ends. If the reader dies before that, the jobs are delivered again. See Flush. Ack
// ignores jobs that are already marked, and jobs of other readers.
func (r *JobReader) Ack(jobs ...Job) {
	if r.check() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, job := range jobs {
		if _, held := r.held[job.delivery]; held && job.delivery.state <= jobOpen {
			job.delivery.state = jobAcked
			r.acked = append(r.acked, job.delivery)
		}
	}
}

// Flush acknowledges at once all jobs for which Ack was called. After an error the reader keeps the
// jobs that may not be acknowledged, and its loop acknowledges them later. A retry is always safe.
func (r *JobReader) Flush(ctx context.Context) error {
	if ctx == nil {
		return errs.Err(errs.NilContext())
	}
	if err := r.check(); err != nil {
		return err
	}
	if err := r.takeTurn(ctx); err != nil {
		return errs.Err(err)
	}
	defer r.endTurn()
	r.mu.Lock()
	acked := r.acked
	r.acked = nil
	r.mu.Unlock()
	var failed error
	for some := range slices.Chunk(acked, flushAtOnce) {
		reqs := make([]Request, len(some))
		for i, d := range some {
			reqs[i] = Req("LREM", r.list(r.name), 1, d.payload)
		}
		if err := r.acknowledged(some, r.db.SendMany(ctx, reqs)); failed == nil {
			failed = err
		}
	}
	return errs.Err(failed)
}

// acknowledged records the results of acknowledgements, and returns the first error.
func (r *JobReader) acknowledged(acked []*delivery, results []any) (failed error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, d := range acked {
		err := errs.Of(results[i])
		switch {
		case err == nil:
			delete(r.held, d)
			if results[i] != int64(0) {
				continue
			}
			err = ErrJobTaken.New("the acknowledged job is no longer in the reader's list")
		case OutcomeOf(err) == OutcomeUnknown:
			d.state = jobUnsure
			r.unsure = true
		default:
			r.acked = append(r.acked, d)
		}
		if failed == nil {
			failed = err
		}
	}
	return failed
}

func (r *JobReader) takeTurn(ctx context.Context) error {
	select {
	case r.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return errs.Withdrawn(ctx)
	}
}

func (r *JobReader) endTurn() { <-r.turn }

// The following functions return the keys that belong to a queue: the list of a reader, the key
// that expires unless the reader checks in, and the set with the names of all readers.
func (r *JobReader) list(name string) string  { return jobPrefix(r.opts.Queue) + ":working:" + name }
func (r *JobReader) alive(name string) string { return jobPrefix(r.opts.Queue) + ":alive:" + name }
func (r *JobReader) readers() string          { return jobPrefix(r.opts.Queue) + ":readers" }

// end returns the end of the queue from which jobs are taken.
func (r *JobReader) end() string {
	if r.opts.Right {
		return "RIGHT"
	}
	return "LEFT"
}
