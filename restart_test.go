package redispipe_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/testbed"
)

// T37: a server is down for a while. Callers with a longer deadline do not notice, except that the
// outcome of writes in flight at that moment is unknown. Each ID that the workers push is in its
// list once if the push was acknowledged, and at most once if the outcome is unknown. Nothing else
// fails. With REDISPIPE_LONG the test runs in full.
func TestT37Restarts(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	outages := []time.Duration{300 * time.Millisecond}
	if !testing.Short() {
		outages = append(outages, 50*time.Millisecond)
	}
	if drill.InFull {
		outages = append(outages, 2*time.Second)
	}
	for _, workers := range []int{20, 1000} {
		s := testbed.NewServer(t, testbed.Options{Persist: true})
		c := open(t, "redis://"+s.Addr())
		for i, outage := range outages {
			w := startWorkers(c, workers, fmt.Sprintf("%d:%d", workers, i))
			w.await(t, int64(20*workers))
			require.NoError(t, s.Kill())
			time.Sleep(outage) // the duration of the fault
			require.NoError(t, s.Restart())
			w.await(t, w.calls.Load()+int64(20*workers))
			w.end()
			w.verify(t, s, fmt.Sprintf("%d workers, away for %v", workers, outage))
		}
		stats := c.Stats().Total // each request that was sent again had an unknown outcome or was refused
		assert.LessOrEqual(t, 10*(stats.Unknown+stats.Refused), stats.Values, "extra load of %d workers", workers)
	}
}

// attempted is a hook that receives the outcome of each attempt.
type attempted chan redis.Outcome

func (a attempted) Before(ctx context.Context, _ redis.Operation) context.Context { return ctx }

func (a attempted) After(_ context.Context, _ redis.Operation, end redis.Completion) {
	select {
	case a <- end.Outcome:
	default:
	}
}

// When a client is closed, a request that waits for a server ends. Hooks are called for each
// attempt.
func TestWaitingEndsWithTheClient(t *testing.T) {
	for name, end := range map[string]func(*redispipe.Client) error{
		"Close":    func(c *redispipe.Client) error { c.Close(); return nil },
		"Shutdown": func(c *redispipe.Client) error { return c.Shutdown(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testbed.NewServer(t)
			attempts := make(attempted, 1)
			c := open(t, "redis://"+s.Addr(), redispipe.Hooks(attempts))
			require.NoError(t, s.Kill())
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			result := make(chan error, 1)
			go func() { result <- redis.Err(c.WithPolicy(rediscluster.MasterOnly).Do(ctx, "INCR", "n")) }()
			require.NotEqual(t, redis.OutcomeValue, <-attempts)
			require.NoError(t, end(c))
			err := <-result
			if redis.OutcomeOf(err) != redis.OutcomeUnknown { // otherwise the request was sent before the client knew
				require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrContextClosed), "%v", err)
			}
		})
	}
}

// workers call a client until the test stops them, and record the result of each call.
type workers struct {
	c     *redispipe.Client
	name  string
	stop  atomic.Bool
	all   sync.WaitGroup
	calls atomic.Int64 // number of calls that have ended
	count int

	mu     sync.Mutex       // guards the fields below
	failed int              // number of failed calls
	reads  []error          // errors of reads
	wrong  []error          // errors of writes, other than unknown outcomes
	pushed map[string][]any // by list: IDs whose push was acknowledged
	maybe  map[string][]any // by list: IDs whose push has an unknown outcome
}

var push = redis.NewScript(`return redis.call('RPUSH', KEYS[1], ARGV[1])`)

func startWorkers(c *redispipe.Client, count int, name string) *workers {
	w := &workers{c: c, name: name, count: count, pushed: map[string][]any{}, maybe: map[string][]any{}}
	for i := range count {
		w.all.Go(func() {
			for n := 0; !w.stop.Load(); n++ {
				w.call(fmt.Sprintf("%s:%d", name, i), i+n, fmt.Sprint(n))
				w.calls.Add(1)
			}
		})
	}
	return w
}

// call makes one call of a kind, with a deadline that is longer than any outage.
func (w *workers) call(list string, kind int, id string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	pushing := redis.Req("RPUSH", list, id)
	switch kind % 7 {
	case 0:
		w.note(list, id, redis.Err(w.c.Do(ctx, "RPUSH", list, id)))
	case 1:
		w.note(list, "", redis.Err(w.c.Do(ctx, "GET", list+":v")))
	case 2:
		w.note(list, "-", redis.Err(w.c.Do(ctx, "SET", list+":v", id)))
	case 3:
		_, err := w.c.Transact(ctx, []redis.Request{pushing, redis.Req("INCR", list+":n")})
		w.note(list, id, err)
	case 4:
		results := w.c.DoMany(ctx, []redis.Request{pushing, redis.Req("GET", list+":v")})
		w.note(list, id, redis.Err(results[0]))
		w.note(list, "", redis.Err(results[1]))
	case 5:
		w.note(list, id, redis.Err(push.Do(ctx, w.c, []string{list}, id)))
	case 6:
		for _, err := range redis.Fields[string](ctx, w.c, redis.ScanOpts{Key: list + ":h"}) {
			w.note(list, "", err)
		}
	}
}

// note records the result of a call that pushes an ID. list is "" for a read, and "-" for another
// write.
func (w *workers) note(list, id string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.failed++
	}
	switch {
	case id == "" && err != nil:
		w.reads = append(w.reads, err)
	case err != nil && redis.OutcomeOf(err) != redis.OutcomeUnknown:
		w.wrong = append(w.wrong, err)
	case id == "" || id == "-":
	case err != nil:
		w.maybe[list] = append(w.maybe[list], id)
	default:
		w.pushed[list] = append(w.pushed[list], id)
	}
}

func (w *workers) await(t *testing.T, calls int64) {
	t.Helper()
	require.Eventually(t, func() bool { return w.calls.Load() >= calls }, time.Minute, time.Millisecond)
}

func (w *workers) end() {
	w.stop.Store(true)
	w.all.Wait()
}

// verify compares the recorded results with the lists on the server.
func (w *workers) verify(t *testing.T, s *testbed.Server, name string) {
	t.Helper()
	assert.Empty(t, w.reads, "%s: reads that failed", name)
	assert.Empty(t, w.wrong, "%s: writes that failed, and not as unknown", name)
	assert.LessOrEqual(t, w.failed, w.count, "%s: more than were in flight", name)
	for i := range w.count {
		list := fmt.Sprintf("%s:%d", w.name, i)
		there, err := redis.As[[]string](s.Do("LRANGE", list, 0, -1))
		require.NoError(t, err)
		seen := map[any]bool{}
		for _, id := range there {
			assert.False(t, seen[id], "%s: %s has run twice", name, id)
			assert.True(t, slices.Contains(w.pushed[list], any(id)) || slices.Contains(w.maybe[list], any(id)), "%s: nobody knows of %s", name, id)
			seen[id] = true
		}
		for _, id := range w.pushed[list] {
			assert.True(t, seen[id], "%s: %s was acknowledged: %s", name, id, strings.Join(there, " "))
		}
	}
	t.Logf("%s: %d calls, %d failed", name, w.calls.Load(), w.failed)
}
