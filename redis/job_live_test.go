package redis_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest/memserver"
	"github.com/joomcode/redispipe/testbed"
)

// jobBed is a server with a list of jobs.
type jobBed struct {
	*testing.T
	addr  string
	redis redis.Sync
	jobs  []string
}

func newJobBed(t *testing.T, addr string, jobs int) *jobBed {
	b := &jobBed{T: t, addr: addr, redis: redis.Sync{S: connectTo(t, addr)}}
	b.push(jobs)
	return b
}

func (b *jobBed) push(jobs int) {
	for range jobs {
		job := fmt.Sprint("job-", len(b.jobs))
		b.jobs = append(b.jobs, job)
		require.NoError(b, redis.AsError(b.redis.Do("RPUSH", "jobs", job)))
	}
}

// reader returns a reader with Ack, on its own connection.
func (b *jobBed) reader(change ...func(redis.Sender) redis.Sender) *redis.JobReader {
	b.Helper()
	var s redis.Sender = connectTo(b, b.addr)
	for _, f := range change {
		s = f(s)
	}
	r, err := redis.NewJobReader(s, redis.JobOpts{Queue: "jobs", Ack: true, MinIdle: time.Second})
	require.NoError(b, err)
	return r
}

// take reads n jobs, and acknowledges them if ack is set.
func (b *jobBed) take(r *redis.JobReader, n int, ack bool) (jobs []string, failures []error) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 30*time.Second)
	defer cancel()
	for job, err := range r.Jobs(ctx) {
		if err != nil {
			failures = append(failures, err)
			continue
		}
		jobs = append(jobs, string(job.Payload))
		if ack {
			r.Ack(job)
		}
		if len(jobs) == n {
			break
		}
	}
	require.NoError(b, ctx.Err(), "%d of %d; %v", len(jobs), n, failures)
	return jobs, failures
}

// keys returns all keys on the server.
func (b *jobBed) keys() []string {
	b.Helper()
	keys, err := redis.As[[]string](b.redis.Do("KEYS", "*"))
	require.NoError(b, err)
	return keys
}

// working returns how many readers have jobs in their lists.
func (b *jobBed) working() int {
	return len(slices.DeleteFunc(b.keys(), func(key string) bool { return !strings.Contains(key, ":working:") }))
}

func jobServers(t *testing.T, f func(t *testing.T, addr string)) {
	t.Run("server", func(t *testing.T) { f(t, testbed.NewServer(t).Addr()) })
	t.Run("memory", func(t *testing.T) { f(t, memserver.New(t).Addr()) })
}

func TestJobs(t *testing.T) {
	jobServers(t, func(t *testing.T, addr string) {
		for _, right := range []bool{false, true} {
			for _, ack := range []bool{false, true} {
				b := newJobBed(t, addr, 0)
				r, err := redis.NewJobReader(connectTo(t, addr), redis.JobOpts{Queue: "jobs", Right: right, Ack: ack})
				require.NoError(t, err)
				push := map[bool]string{false: "RPUSH", true: "LPUSH"}[right]
				b.redis.Do(push, "jobs", "a", "b", "")
				got, failures := b.take(r, 3, ack)
				assert.Equal(t, []string{"a", "b", ""}, got)
				assert.Empty(t, failures)
				assert.Empty(t, b.keys())
			}
		}
	})
}

// TestJobsWait checks that a loop waits for jobs, and ends without an error when its context ends.
func TestJobsWait(t *testing.T) {
	t.Parallel()
	jobServers(t, func(t *testing.T, addr string) {
		b := newJobBed(t, addr, 0)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		go func() { // ends after three pushes
			for i := range 3 {
				time.Sleep(20 * time.Millisecond) // bounds the load; nothing waits for this
				b.redis.Do("RPUSH", "jobs", i)
			}
		}()
		var got []string
		r := b.reader()
		for job, err := range r.Jobs(ctx) {
			require.NoError(t, err)
			r.Ack(job)
			if got = append(got, string(job.Payload)); len(got) == 3 {
				time.AfterFunc(20*time.Millisecond, cancel)
			}
		}
		assert.Equal(t, []string{"0", "1", "2"}, got)
		assert.Zero(t, b.working())
	})
}

// TestJobsLeft checks that other readers get the jobs of a dead worker, in order and before new
// jobs. The worker's name is kept, so that readers look at its list again.
func TestJobsLeft(t *testing.T) {
	t.Parallel()
	b := newJobBed(t, testbed.NewServer(t).Addr(), 5)
	dead, _ := b.take(b.reader(), 3, false)
	assert.Equal(t, b.jobs[:3], dead)
	b.redis.Do("RPUSH", "jobs", "last")
	r := b.reader()
	got, failures := b.take(r, 6, true)
	assert.Empty(t, failures)
	assert.ElementsMatch(t, append(b.jobs[:5:5], "last"), got)
	assert.True(t, strings.Contains(strings.Join(got, " "), strings.Join(dead, " ")), "%v", got)
	readers, err := redis.As[[]redis.Scored[string]](b.redis.Do("ZRANGE", "{jobs}:readers", 0, -1, "WITHSCORES"))
	require.NoError(t, err)
	require.Len(t, readers, 1)

	// A pop of the dead reader may run late, so readers look at its list several times. Then they
	// remove its name.
	reader := readers[0].Member
	b.redis.Do("RPUSH", "{jobs}:working:"+reader, "late")
	b.redis.Do("DEL", "{jobs}:alive:"+reader)
	got, _ = b.take(b.reader(), 1, true)
	assert.Equal(t, []string{"late"}, got)
	for looks := 1; b.redis.Do("ZSCORE", "{jobs}:readers", reader) != nil; looks++ {
		require.Less(t, looks, 20)
		rest, err := redis.As[int](b.redis.Do("PTTL", "{jobs}:alive:"+reader))
		require.NoError(t, err)
		assert.LessOrEqual(t, rest, 1500<<looks)
		b.redis.Do("DEL", "{jobs}:alive:"+reader)
		b.push(1)
		b.take(b.reader(), 1, true)
	}
	assert.Equal(t, []string{"{jobs}:alive:" + reader}, b.keys(), "which expires")
}

// TestJobsKnown checks that a reader whose name a failover has undone is known again when it has a job, so
// that others take the job over if the reader dies.
func TestJobsKnown(t *testing.T) {
	jobServers(t, func(t *testing.T, addr string) {
		b := newJobBed(t, addr, 2)
		r, err := redis.NewJobReader(connectTo(t, addr), redis.JobOpts{Queue: "jobs", Ack: true, MinIdle: time.Hour})
		require.NoError(t, err)
		known := func() bool { return b.redis.Do("ZCARD", "{jobs}:readers") == int64(1) }
		delivered := 0
		for _, err := range r.Jobs(t.Context()) {
			require.NoError(t, err)
			require.Eventually(t, known, 30*time.Second, time.Millisecond)
			if delivered++; delivered == 2 {
				break
			}
			require.Equal(t, int64(1), b.redis.Do("DEL", "{jobs}:readers"))
		}
	})
}

// TestJobsNotAcknowledged checks that the loop delivers a job again after MinIdle if it was not
// acknowledged, and that a late acknowledgement counts.
func TestJobsNotAcknowledged(t *testing.T) {
	t.Parallel()
	b := newJobBed(t, testbed.NewServer(t).Addr(), 2)
	r := b.reader()
	var first redis.Job
	var got []string
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for job, err := range r.Jobs(ctx) {
		require.NoError(t, err)
		got = append(got, string(job.Payload))
		switch len(got) {
		case 1:
			first = job
		case 2:
			r.Ack(job, job)
		case 3:
			r.Ack(first, redis.Job{Payload: job.Payload})
			cancel()
		}
	}
	assert.Equal(t, []string{"job-0", "job-1", "job-0"}, got)
	assert.Empty(t, b.keys())
}

// TestJobsTaken checks what a reader does whose lease has expired: it delivers an error that other
// readers have its job, whether or not the job is acknowledged, and continues with other jobs.
func TestJobsTaken(t *testing.T) {
	t.Parallel()
	for _, ack := range []bool{false, true} {
		t.Run(fmt.Sprint(ack), func(t *testing.T) {
			t.Parallel()
			b := newJobBed(t, testbed.NewServer(t).Addr(), 3)
			slow := b.reader()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			var got []string
			taken := 0
			for job, err := range slow.Jobs(ctx) {
				if err != nil {
					isType(t, redis.ErrJobTaken.New(""), err)
					taken++
					b.redis.Do("RPUSH", "jobs", "last")
					continue
				}
				if got = append(got, string(job.Payload)); len(got) == 2 {
					slow.Ack(job)
					break
				}
				others, _ := b.take(b.reader(), 3, true) // waits until the lease has expired
				assert.ElementsMatch(t, b.jobs, others)
				if ack {
					slow.Ack(job)
				}
			}
			assert.Equal(t, []string{"job-0", "last"}, got)
			assert.Equal(t, 1, taken)
			assert.Zero(t, b.redis.Do("LLEN", "jobs"))
			assert.Zero(t, b.working())
		})
	}
}

// lossy is a Sender that loses the replies to a command or, if before is set, the requests.
type lossy struct {
	redis.Sender
	cmd    string
	before bool
	left   atomic.Int64
}

func (s *lossy) Send(r redis.Request, cb redis.Future, n uint64) {
	if r.Cmd != s.cmd || s.left.Add(-1) < 0 {
		s.Sender.Send(r, cb, n)
		return
	}
	if !s.before {
		redis.Sync{S: s.Sender}.Send(r)
	}
	cb.Resolve(redis.ErrIO.New("on purpose"), n)
}

func (s *lossy) SendMany(reqs []redis.Request, cb redis.Future, n uint64) {
	for i, r := range reqs {
		s.Send(r, cb, n+uint64(i))
	}
}

// TestJobsUnknown checks that a job is delivered even if the reply to its pop was lost, and is not
// delivered again if the reply to its acknowledgement was lost.
func TestJobsUnknown(t *testing.T) {
	t.Parallel()
	for _, cmd := range []string{"BLMOVE", "LREM"} {
		for _, before := range []bool{false, true} {
			t.Run(fmt.Sprint(cmd, before), func(t *testing.T) {
				t.Parallel()
				b := newJobBed(t, testbed.NewServer(t).Addr(), 5)
				s := &lossy{cmd: cmd, before: before}
				s.left.Store(3)
				got, failures := b.take(b.reader(func(conn redis.Sender) redis.Sender { s.Sender = conn; return s }), 5, true)
				assert.Equal(t, b.jobs, got)
				assert.NotEmpty(t, failures)
				for _, err := range failures {
					isType(t, redis.ErrIO.New(""), err)
				}
				assert.Zero(t, b.redis.Do("LLEN", "jobs"))
				assert.Zero(t, b.working())
			})
		}
	}
}

// TestJobsLateAck checks that a job can be acknowledged after the loop has ended.
func TestJobsLateAck(t *testing.T) {
	b := newJobBed(t, testbed.NewServer(t).Addr(), 2)
	r := b.reader()
	var late redis.Job
	for job, err := range r.Jobs(t.Context()) {
		require.NoError(t, err)
		late = job
		break
	}
	r.Ack(late)
	require.NoError(t, r.Flush(t.Context()))
	require.NoError(t, r.Flush(t.Context()), "there is nothing")
	assert.Zero(t, b.working())
	got, _ := b.take(r, 1, true)
	assert.Equal(t, b.jobs[1:], got, "another loop of the same reader")
	assert.Empty(t, b.keys())
}
