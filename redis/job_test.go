package redis

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/slot"
)

func TestJobOpts(t *testing.T) {
	for name, o := range map[string]JobOpts{
		"no queue":                       {},
		"no key is in its slot for sure": {Queue: "a}b", Ack: true},
		"an empty tag":                   {Queue: "{}b", Ack: true},
	} {
		_, err := NewJobReader(nil, o)
		assertType(t, ErrJobOpts, err, name)
		assert.Equal(t, OutcomeNotSent, OutcomeOf(err), name)
		assert.False(t, SafeToRetry(err), name)
	}
	r, err := NewJobReader(nil, JobOpts{Queue: "a}b"})
	require.NoError(t, err, "without Ack it needs no other key")
	assert.Equal(t, time.Minute, r.opts.MinIdle)
	r, err = NewJobReader(nil, JobOpts{Queue: "q", MinIdle: 1})
	require.NoError(t, err)
	assert.Equal(t, jobMinIdleLeast, r.opts.MinIdle)
}

func TestJobKeys(t *testing.T) {
	names := map[string]bool{}
	for _, queue := range []string{"jobs", "{a}jobs", "jobs{a}", "a{b", "{", "a{}{b}", "a{b}}"} {
		r, err := NewJobReader(nil, JobOpts{Queue: queue, Ack: true})
		if queue == "a{}{b}" { // the first tag is empty, so the whole name is hashed
			assertType(t, ErrJobOpts, err)
			continue
		}
		require.NoError(t, err, queue)
		for _, key := range []string{r.list(r.name), r.alive(r.name), r.readers()} {
			assert.Equal(t, slot.Of(queue), slot.Of(key), key)
			names[key] = true
		}
	}
	assert.Len(t, names, 6*3)
}

func TestJobBusy(t *testing.T) {
	node := &foreignSender{send: func(_ Request, cb Future, n uint64) { cb.Resolve([]any{[]byte("q"), []byte("paint")}, n) }}
	r, err := NewJobReader(node, JobOpts{Queue: "q"})
	require.NoError(t, err)
	for job, err := range r.Jobs(t.Context()) {
		require.NoError(t, err)
		assert.Equal(t, "paint", string(job.Payload))
		for _, err := range r.Jobs(t.Context()) {
			assertType(t, ErrJobBusy, err)
			assert.True(t, SafeToRetry(err))
		}
		break
	}
	for _, err := range r.Jobs(noContext) {
		assertType(t, ErrContextIsNil, err)
	}
	assertType(t, ErrContextIsNil, r.Flush(noContext))
}

// TestJobPopped checks that a job that was popped while the context ended is delivered.
func TestJobPopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	node := &foreignSender{send: func(_ Request, cb Future, n uint64) {
		cb.Resolve([]any{[]byte("q"), []byte("paint")}, n)
		cancel()
	}}
	r, err := NewJobReader(node, JobOpts{Queue: "q"})
	require.NoError(t, err)
	jobs := 0
	for job, err := range r.Jobs(ctx) {
		require.NoError(t, err)
		assert.Equal(t, "paint", string(job.Payload))
		jobs++
	}
	assert.Equal(t, 1, jobs)
}

// TestJobErrors checks that a loop continues after any error, with growing pauses, and does not report
// unblocked pops.
func TestJobErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		sent := 0
		node := &foreignSender{send: func(_ Request, cb Future, n uint64) {
			switch sent++; {
			case sent%4 == 0:
				cb.Resolve(ErrUnblocked.New("UNBLOCKED"), n)
			case sent%4 == 1:
				cb.Resolve(int64(1), n)
			case sent%4 == 2:
				cb.Resolve(ErrResult.New("NOPERM"), n)
			default:
				cb.Resolve(ErrIO.New("lost"), n)
			}
		}}
		r, err := NewJobReader(node, JobOpts{Queue: "q"})
		require.NoError(t, err)
		outcomes := map[Outcome]int{}
		for job, err := range r.Jobs(ctx) {
			assert.Empty(t, job)
			outcomes[OutcomeOf(err)]++
		}
		assert.Less(t, sent, 100)
		assert.Greater(t, sent, 40)
		assert.InDelta(t, sent/4, outcomes[OutcomeUnknown]-outcomes[OutcomeRefused], float64(sent)/4+1)
		assert.InDelta(t, 3*sent/4, outcomes[OutcomeUnknown]+outcomes[OutcomeRefused], 2, "all but what was unblocked")
	})
}

// TestJobLastError checks that a loop delivers the error of a pop with an unknown outcome, even
// though its context has ended.
func TestJobLastError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	node := &foreignSender{send: func(_ Request, cb Future, n uint64) {
		cb.Resolve(ErrIO.New("lost"), n)
		cancel()
	}}
	r, err := NewJobReader(node, JobOpts{Queue: "q"})
	require.NoError(t, err)
	var last []error
	for _, err := range r.Jobs(ctx) {
		last = append(last, err)
	}
	require.Len(t, last, 1)
	assert.Equal(t, OutcomeUnknown, OutcomeOf(last[0]))
}

// TestJobClosed checks that a loop ends when its Sender is closed.
func TestJobClosed(t *testing.T) {
	node := &foreignSender{send: func(_ Request, cb Future, n uint64) { cb.Resolve(ErrContextClosed.New("closed"), n) }}
	r, err := NewJobReader(node, JobOpts{Queue: "q"})
	require.NoError(t, err)
	var failures []error
	for _, err := range r.Jobs(t.Context()) {
		failures = append(failures, err)
	}
	require.Len(t, failures, 1)
	assertType(t, ErrContextClosed, failures[0])
}

// TestJobPolls checks that a reader polls, with pauses, if its Sender refuses blocking commands.
func TestJobPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		sent := map[string]int{}
		node := &foreignSender{send: func(r Request, cb Future, n uint64) {
			sent[r.Cmd]++
			switch {
			case r.Cmd == "BRPOP":
				cb.Resolve(ErrCommandForbidden.New("it blocks"), n)
			case sent["RPOP"] == 20:
				cb.Resolve([]byte("paint"), n)
			default:
				cb.Resolve(nil, n)
			}
		}}
		r, err := NewJobReader(node, JobOpts{Queue: "q", Right: true})
		require.NoError(t, err)
		var got []string
		for job, err := range r.Jobs(ctx) {
			require.NoError(t, err)
			got = append(got, string(job.Payload))
		}
		assert.Equal(t, []string{"paint"}, got)
		assert.Equal(t, 1, sent["BRPOP"])
		assert.Less(t, sent["RPOP"], 90)
	})
}
