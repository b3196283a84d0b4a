package redisfailover_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/rediscache"
	"github.com/joomcode/redispipe/redisfailover"
	"github.com/joomcode/redispipe/testbed"
)

// While reads go on, the server of a member with a cache is killed or freezes, and its value changes before the client
// returns to it. A cache never answers for the other member, and after the fault it answers nothing from before. Every
// read ends.
func TestCachedReadsWhileAMemberFails(t *testing.T) {
	t.Parallel()
	near, far := testbed.NewServer(t), testbed.NewServer(t)
	client, err := redispipe.Open(t.Context(), "redis://"+near.Addr(), redispipe.Logger(nil))
	require.NoError(t, err)
	cache, err := rediscache.New(client, rediscache.Opts{Prefixes: []string{""}})
	require.NoError(t, err)
	db, err := redisfailover.Open(t.Context(), []redisfailover.Member{
		{Name: "near", Sender: cache, Weight: 1},
		{Name: "far", URL: "redis://" + far.Addr() + "?read_timeout=60s", Options: []redispipe.Option{redispipe.Logger(nil)}},
	}, redisfailover.Opts{Patience: 300 * time.Millisecond, Failback: failback, Logger: redisfailover.NoopLogger{}})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	require.Equal(t, "OK", far.Do("SET", "key", "far"))
	require.Equal(t, "OK", near.Do("SET", "key", "near 0"))

	r := &cachedReads{t: t, db: db}
	r.expected.Store(new(expectation))
	for range 4 {
		r.readers.Go(r.run)
	}
	defer r.readers.Wait()
	defer r.ending.Store(true)
	rounds := 2
	if drill.InFull {
		rounds = 10
	}
	for round := range rounds {
		hits := cache.Stats().Hits
		r.settle("near", fmt.Sprint("near ", round))
		require.Greater(t, cache.Stats().Hits, hits)
		r.expected.Store(new(expectation))
		kills := round%2 == 0
		if kills {
			require.NoError(t, near.Kill())
		} else {
			require.NoError(t, near.Pause())
		}
		r.settle("far", "far")
		r.expected.Store(new(expectation))
		if kills {
			require.NoError(t, near.Restart())
		} else {
			require.NoError(t, near.Resume())
		}
		require.Equal(t, "OK", near.Do("SET", "key", fmt.Sprint("near ", round+1)))
	}
	r.settle("near", fmt.Sprint("near ", rounds))
}

// cachedReads are readers that read a key without pause.
type cachedReads struct {
	t        *testing.T
	db       *redisfailover.Client
	readers  sync.WaitGroup
	ending   atomic.Bool
	expected atomic.Pointer[expectation]
}

// expectation is the value that a member has, if that is certain.
type expectation struct {
	member, value string
	met           atomic.Int32
}

func (r *cachedReads) read() string {
	res := r.db.Do(r.t.Context(), "GET", "key")
	if value, is := res.([]byte); is {
		return string(value)
	}
	return fmt.Sprint(res)
}

// active returns the active member, and how often the client has shifted.
func (r *cachedReads) active() (name string, shifts uint64) {
	stats := r.db.Stats()
	for _, m := range stats.Members {
		if m.Active {
			name = m.Name
		}
	}
	return name, stats.Failed + stats.Restored + stats.Switched
}

// run reads until the test ends. It judges each read during which the client has not shifted.
func (r *cachedReads) run() {
	for !r.ending.Load() {
		expected := r.expected.Load()
		member, before := r.active()
		got := r.read()
		if _, after := r.active(); after != before || !strings.HasPrefix(got, "near") && got != "far" { // an error is not stale
			continue
		}
		switch {
		case member == "far" && got != "far" || member == "near" && got == "far":
			r.t.Errorf("%s answers %q", member, got)
		case member == expected.member && r.expected.Load() == expected:
			if expected.met.Add(1); got != expected.value {
				r.t.Errorf("%s answers %q instead of %q", member, got, expected.value)
			}
		}
	}
}

// settle waits until reads return the value of a member. From then on they must, and it waits until some hundred have.
func (r *cachedReads) settle(member, value string) {
	awaits(r.t, r.db, member)
	require.Eventually(r.t, func() bool { return r.read() == value }, time.Minute, time.Millisecond, value)
	expected := &expectation{member: member, value: value}
	r.expected.Store(expected)
	require.Eventually(r.t, func() bool { return expected.met.Load() > 500 }, time.Minute, time.Millisecond, value)
}
