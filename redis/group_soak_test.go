package redis_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

// TestGroupSoak starts worker processes that read a stream. It kills workers at random, deletes and
// trims entries, and destroys the group. At the end every entry was delivered or reported as
// deleted, and none is pending. No entry was delivered after it was acknowledged in the same group,
// and no acknowledged entry was reported as deleted. REDISPIPE_SOAK=10m makes the test longer.
func TestGroupSoak(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it starts processes and runs for seconds")
	}
	s := &groupSoak{streamBed: newStreamBed(t, 0), added: map[string]bool{}, owed: map[string]bool{}}
	var workers []*groupWorker
	for i := range 3 {
		workers = append(workers, s.work(i, 0))
	}
	end := time.Now().Add(max(3*time.Second, liveFor(t)))
	destroy := time.Now().Add(time.Until(end) / 2)
	for round := 1; time.Now().Before(end) || !s.met("deleted", "destroyed") && time.Since(end) < time.Minute; round++ {
		s.produce(20)
		time.Sleep(10 * time.Millisecond) // bounds the load; nothing waits for this
		switch {
		case round%5 == 0:
			s.remove("XDEL", "jobs", s.random(), s.random())
		case round%23 == 0:
			s.remove("XTRIM", "jobs", "MAXLEN", 50)
		case round%13 == 0:
			i := rand.IntN(len(workers))
			s.kill(workers[i])
			for id := range pendingOf(s.server.Do("XPENDING", "jobs", "workers", "-", "+", 3)) {
				s.remove("XDEL", "jobs", id)
			}
			workers[i] = s.work(i, rand.IntN(2)*round) // under the old name or a new one
		case !destroy.IsZero() && time.Now().After(destroy):
			destroy = time.Time{}
			if !s.met("destroyed") { // a new worker may have created the group before the other workers noticed that it was missing
				s.destroy()
				destroy = time.Now().Add(time.Second)
			}
		}
	}
	s.produce(1) // nobody deletes this last entry
	require.Eventually(t, s.drained, time.Minute, 20*time.Millisecond, "pending: %v", s.server.Do("XPENDING", "jobs", "workers"))
	for _, w := range workers {
		s.kill(w)
	}
	s.judge()
}

func (s *groupSoak) judge() {
	j := newGroupJudge(s.removals)
	for _, line := range s.log() {
		j.read(line)
	}
	j.end(s.added, s.owed)
	assert.Empty(s, j.faults)
	assert.NotZero(s, j.counts["destroyed"])
	assert.NotZero(s, j.counts["deleted"])
	s.Logf("%d entries, %d deleted; log: %v", len(s.ids), len(s.ids)-len(idsOf(s.server.Do("XRANGE", "jobs", "-", "+"))), j.counts)
}

type groupSoak struct {
	*streamBed
	added map[string]bool // true while the entry is in the stream
	// owed has the entries that were pending when they were deleted. Each must be acknowledged or
	// reported.
	owed map[string]bool
	// removals are the IDs of deleted entries. The log refers to them by index.
	removals [][]string
}

// groupWorker is a worker process.
type groupWorker struct {
	*exec.Cmd
	consumer string
}

// work starts a worker process: this test binary, running only TestGroupWorker.
func (s *groupSoak) work(i, life int) *groupWorker {
	cmd := exec.Command(os.Args[0], "-test.run=^TestGroupWorker$", "-test.count=1")
	consumer := fmt.Sprintf("w%d-%d", i, life)
	cmd.Env = append(os.Environ(), "REDISPIPE_WORKER="+s.server.Addr(), "REDISPIPE_CONSUMER="+consumer)
	if i == 0 {
		cmd.Env = append(cmd.Env, "REDISPIPE_POLLS=1")
	}
	require.NoError(s, cmd.Start())
	s.Cleanup(func() { _ = cmd.Process.Kill() })
	return &groupWorker{cmd, consumer}
}

func (s *groupSoak) kill(w *groupWorker) {
	require.NoError(s, w.Process.Kill())
	_ = w.Wait()
	s.server.Do("RPUSH", "log", "killed "+w.consumer)
}

func (s *groupSoak) produce(n int) {
	for range n {
		id, err := redis.As[string](s.server.Do("XADD", "jobs", "*", "n", len(s.ids)))
		require.NoError(s, err)
		s.ids = append(s.ids, id)
		s.added[id] = true
	}
}

// random returns the ID of one of the last entries, which may be pending.
func (s *groupSoak) random() string { return s.ids[len(s.ids)-1-rand.IntN(min(len(s.ids), 100))] }

// remove deletes entries, and adds the pending ones to owed.
func (s *groupSoak) remove(cmd string, args ...any) {
	results, err := s.transaction(
		redis.Req(cmd, args...), redis.Req("XRANGE", "jobs", "-", "+"), redis.Req("RPUSH", "log", fmt.Sprint("removed ", len(s.removals))),
	)
	require.NoError(s, err)
	pending, left := pendingOf(results[0]), idsOf(results[2])
	var removed []string
	for id, there := range s.added {
		if there && !left[id] {
			s.added[id] = false
			s.owed[id] = pending[id]
			removed = append(removed, id)
		}
	}
	s.removals = append(s.removals, removed)
}

// destroy destroys the group. After that nobody knows which deleted entries were pending.
func (s *groupSoak) destroy() {
	results, err := s.transaction(redis.Req("XGROUP", "DESTROY", "jobs", "workers"), redis.Req("RPUSH", "log", "gone"))
	require.NoError(s, err)
	for id := range pendingOf(results[0]) {
		delete(s.owed, id)
	}
}

// transaction runs requests in a transaction that first lists the pending entries.
func (s *groupSoak) transaction(reqs ...redis.Request) ([]any, error) {
	conn := connectTo(s, s.server.Addr())
	defer conn.Close()
	return redis.Sync{S: conn}.SendTransaction(append([]redis.Request{redis.Req("XPENDING", "jobs", "workers", "-", "+", 1000000)}, reqs...))
}

func pendingOf(res any) map[string]bool {
	list, _ := redis.As[[][]any](res) // without a group the result is an error
	ids := map[string]bool{}
	for _, entry := range list {
		ids[string(entry[0].([]byte))] = true
	}
	return ids
}

func idsOf(res any) map[string]bool {
	entries, _ := redis.As[[]redis.Entry[any]](res)
	ids := map[string]bool{}
	for _, e := range entries {
		ids[e.ID] = true
	}
	return ids
}

// drained reports whether every entry was delivered and none is pending.
func (s *groupSoak) drained() bool {
	groups, err := redis.As[[]map[string]any](s.server.Do("XINFO", "GROUPS", "jobs"))
	if err != nil || len(groups) != 1 || groups[0]["pending"] != int64(0) {
		return false
	}
	last, _ := redis.As[string](groups[0]["last-delivered-id"])
	return last == s.ids[len(s.ids)-1]
}

// log returns what the workers have logged.
func (s *groupSoak) log() []string {
	s.Helper()
	log, err := redis.As[[]string](s.server.Do("LRANGE", "log", 0, -1))
	require.NoError(s, err)
	return log
}

// met reports whether the workers have logged each of these events.
func (s *groupSoak) met(whats ...string) bool {
	log := s.log()
	return !slices.ContainsFunc(whats, func(what string) bool {
		return !slices.ContainsFunc(log, func(line string) bool { return strings.HasPrefix(line, what+" ") })
	})
}
