package torture

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// jobRound is how many jobs are pushed before each fault.
const jobRound = 100

// jobRounds returns how many faults a test of jobs makes. TORTURE_JOBS, such as 100000, sets the
// number of jobs.
func jobRounds() int {
	if jobs, err := strconv.Atoi(os.Getenv("TORTURE_JOBS")); err == nil {
		return max(1, jobs/jobRound)
	}
	return long(100, 6)
}

// playJobs pushes jobs and makes a fault after each push, while workers work. Then it waits until
// the queue has no job and, with Ack, until all jobs are acknowledged. read sends a command to the
// server that has the queue.
func playJobs(t *testing.T, j *Jobs, push func(jobs []any) error, fault func(ctx context.Context, round int) error, read func(cmd string, args ...any) any) (pushed int) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- j.Run(ctx) }()
	defer func() {
		if t.Failed() {
			logJobKeys(t, j, read)
		}
		stop()
		require.NoError(t, <-ended)
		t.Log(j)
	}()
	for round := range jobRounds() {
		var jobs []any
		for range jobRound {
			jobs = append(jobs, fmt.Sprint("job-", pushed))
			pushed++
		}
		before, _ := j.Delivered()
		require.NoError(t, push(jobs))
		require.Eventually(t, func() bool { now, _ := j.Delivered(); return now >= before+jobRound/4 }, patience, time.Millisecond, "%v", j)
		require.NoError(t, fault(ctx, round))
	}
	for empty := false; !empty; {
		before, _ := j.Delivered() // a busy machine needs more than patience for all jobs
		require.Eventually(t, func() bool {
			keys, err := redis.As[[]string](read("KEYS", "{jobs}*:working:*"))
			empty = err == nil && len(keys) == 0 && read("LLEN", j.Opts.Queue) == int64(0)
			now, _ := j.Delivered()
			return empty || now >= before+jobRound/4
		}, patience, 50*time.Millisecond, "%v", j)
	}
	return pushed
}

// logJobKeys logs what the server has of the queue.
func logJobKeys(t *testing.T, j *Jobs, read func(cmd string, args ...any) any) {
	t.Logf("%s has %v jobs", j.Opts.Queue, read("LLEN", j.Opts.Queue))
	keys, err := redis.As[[]string](read("KEYS", "{jobs}*"))
	if err != nil {
		t.Log(err)
	}
	for _, key := range keys {
		t.Logf("%s, PTTL %v: %s %s %q", key, read("PTTL", key), read("GET", key), read("LRANGE", key, 0, -1), read("ZRANGE", key, 0, -1, "WITHSCORES"))
	}
}

// judgeJobs checks the results of workers that have ended. lossy is set if servers may have lost
// executed writes, except the jobs themselves.
func judgeJobs(t *testing.T, j *Jobs, pushed int, lossy bool) {
	t.Helper()
	jobs, again := j.Delivered()
	if j.Opts.Ack {
		require.Equal(t, pushed, jobs, "seed %d: each is delivered", seed)
		if !lossy {
			require.LessOrEqual(t, int64(again), j.Deaths.Load()+j.UnknownAcks.Load()+j.Taken.Load(), "seed %d", seed)
		}
		return
	}
	require.LessOrEqual(t, int64(pushed-jobs), j.Unknown.Load(), "seed %d", seed)
	if !lossy {
		require.Zero(t, again, "seed %d", seed)
	}
}

// T41: workers take jobs while their connections are reset, their server is killed and frozen,
// their loops are cancelled and they die. With Ack no job is lost. A job is delivered again only if
// its worker died, if its acknowledgement was unknown, or if the worker got an error that others
// have its jobs. Without Ack, at most as many jobs are missing as outcomes are unknown, and no job
// is delivered twice.
func TestT41Jobs(t *testing.T) {
	beside(t)
	faults := slices.Sorted(maps.Keys(singleFaults))
	for _, ack := range []bool{true, false} {
		t.Run(fmt.Sprintf("ack %v", ack), func(t *testing.T) {
			drill.Rotate(t)
			beside(t)
			r := newRig(t, RigOpts{Conn: untimed(), ServerOpts: testbed.Options{Persist: true}})
			opts := untimed()
			opts.Logger = redisconn.NoopLogger{}
			j := &Jobs{
				Connect: func() (redis.Sender, func(), error) {
					conn, err := setUp(func() (*redisconn.Connection, error) {
						return redisconn.Connect(context.Background(), r.Proxy.Addr(), opts)
					})
					return conn, sync.OnceFunc(func() { conn.Close() }), err
				},
				Opts: redis.JobOpts{Queue: "jobs", Ack: ack, MinIdle: time.Second},
				Seed: seed, Workers: 8,
			}
			rnd := rand.New(rand.NewSource(seed))
			pushed := playJobs(t, j,
				func(jobs []any) error { return redis.AsError(r.Server.Do("RPUSH", append([]any{"jobs"}, jobs...)...)) },
				func(ctx context.Context, _ int) error {
					return singleFaults[faults[rnd.Intn(len(faults))]].make(ctx, r)
				},
				r.Server.Do)
			judgeJobs(t, j, pushed, false)
			require.Positive(t, j.Unknown.Load())
		})
	}
}

// T41 in a cluster: the master of the queue's slot hands over to its replica, is killed or frozen, or
// gives the slot away. With TORTURE_JOBS these faults also happen in random order.
func TestT41JobsInCluster(t *testing.T) {
	beside(t)
	nodes := testbed.NewCluster(t, testbed.ClusterOptions{Options: testbed.Options{Persist: true}, NodeTimeout: nodeTimeout})
	taken := func(lost, back func(*testbed.Node) error) func(*ClusterRig) error {
		return func(r *ClusterRig) error {
			return replace(r, "jobs", func(master, replica *testbed.Node) error {
				if err := lost(master); err != nil {
					return err
				}
				return errors.Join(nodes.Failover(replica, testbed.Takeover), back(master))
			})
		}
	}
	faults := map[string]func(*ClusterRig) error{
		"failover": func(r *ClusterRig) error {
			return replace(r, "jobs", func(_, replica *testbed.Node) error { return nodes.Failover(replica, testbed.Graceful) })
		},
		"killed master": taken((*testbed.Node).Kill, (*testbed.Node).Restart),
		"frozen master": taken((*testbed.Node).Pause, (*testbed.Node).Resume),
		"moved slot": func(r *ClusterRig) error {
			m := newSlotMover(r)
			m.often, m.seldom, m.handsOver = []string{"jobs"}, []string{"jobs"}, false
			return m.next()
		},
	}
	play := func(t *testing.T, ack, lossy bool, fault func(*ClusterRig) error) {
		r := newClusterRig(t, nodes, nodeLost)
		j := &Jobs{
			Connect: func() (redis.Sender, func(), error) { return r.Client, func() {}, nil },
			Opts:    redis.JobOpts{Queue: "jobs", Ack: ack, MinIdle: time.Second},
			Seed:    seed, Workers: 8,
		}
		owner := func(cmd string, args ...any) any {
			slot, err := nodes.Slot("jobs")
			if err != nil {
				return err
			}
			node, err := nodes.Owner(slot)
			if err != nil {
				return err
			}
			return node.Do(cmd, args...)
		}
		again := redis.WithRetry(r.Client, redis.RetryOpts{}) // the client may not know the master yet
		pushed := playJobs(t, j, func(jobs []any) error { return pushReplicated(again, jobs) },
			func(context.Context, int) error { return fault(r) }, owner)
		judgeJobs(t, j, pushed, lossy)
	}
	names := slices.Sorted(maps.Keys(faults))
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			drill.Rotate(t)
			play(t, true, strings.HasSuffix(name, "master"), faults[name])
		})
	}
	if os.Getenv("TORTURE_JOBS") == "" {
		return
	}
	rnd := rand.New(rand.NewSource(seed))
	for _, ack := range []bool{true, false} {
		t.Run(fmt.Sprintf("at random, ack %v", ack), func(t *testing.T) {
			made := map[string]int{}
			play(t, ack, true, func(r *ClusterRig) error {
				name := names[rnd.Intn(len(names))]
				made[name]++
				return faults[name](r)
			})
			t.Log(made)
		})
	}
}

// T41 with sentinels, which promote another master.
func TestT41JobsWithSentinels(t *testing.T) {
	beside(t)
	if !drill.InFull {
		t.Skip("takes minutes: make nightly runs it")
	}
	failover := func(how testbed.FailoverMode) func(*testbed.Group) (*testbed.Server, error) {
		return func(g *testbed.Group) (*testbed.Server, error) { return g.Failover(how) }
	}
	for name, kind := range map[string]struct {
		downAfter time.Duration
		lossy     bool
		fault     func(*testbed.Group) (promoted *testbed.Server, err error)
	}{
		"graceful": {noElection, false, failover(testbed.Graceful)},
		"forced":   {noElection, true, failover(testbed.Force)},
		// After a promotion, sentinels need up to a second to connect to the new master again. With
		// a shorter time they would replace it at once.
		"killed": {3 * time.Second, true, killAndRestart},
	} {
		t.Run(name, func(t *testing.T) {
			group := testbed.NewGroup(t, testbed.GroupOptions{Options: testbed.Options{Persist: true}, Sentinels: 3, DownAfter: kind.downAfter})
			r, err := NewSentinelRig(t.Name(), seed, group, rediscluster.Opts{HostOpts: redisconn.Opts{IOTimeout: nodeLost}})
			require.NoError(t, err)
			defer r.Close()
			j := &Jobs{
				Connect: func() (redis.Sender, func(), error) { return r.Client, func() {}, nil },
				Opts:    redis.JobOpts{Queue: "jobs", Ack: true, MinIdle: time.Second},
				Seed:    seed, Workers: 8,
			}
			master := func(cmd string, args ...any) any {
				node, err := group.Master()
				if err != nil {
					return err
				}
				return node.Do(cmd, args...)
			}
			again := redis.WithRetry(r.Client, redis.RetryOpts{}) // because the client may not know the master yet
			pushed := playJobs(t, j, func(jobs []any) error { return pushReplicated(again, jobs) },
				func(context.Context, int) error {
					promoted, err := kind.fault(group)
					if err != nil {
						return err
					}
					return group.WaitSettled(promoted)
				}, master)
			judgeJobs(t, j, pushed, kind.lossy)
		})
	}
}

// killAndRestart kills the master, and restarts it after sentinels have promoted a replica.
func killAndRestart(g *testbed.Group) (promoted *testbed.Server, err error) {
	old, err := g.Master()
	if err != nil {
		return nil, err
	}
	if err := old.Kill(); err != nil {
		return nil, err
	}
	if promoted, err = g.WaitPromoted(old); err != nil {
		return nil, err
	}
	return promoted, old.Restart()
}

// pushOnce pushes jobs unless they were pushed before. It always writes, because WAIT waits for the
// writes of its own connection.
const pushOnce = `if redis.call("EXISTS", KEYS[2]) == 0 then redis.call("RPUSH", KEYS[1], unpack(ARGV)) end
redis.call("SET", KEYS[2], 1)`

// pushReplicated pushes jobs, and waits until a replica has them, so that they are not lost with
// the master. It tries again after any error, because a master that hands over may take longer to
// answer than its clients wait.
func pushReplicated(client redis.Sender, jobs []any) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	args := append([]any{pushOnce, 2, "jobs", fmt.Sprint("{jobs}:pushed:", rand.Uint64())}, jobs...)
	for {
		err := redis.WithSession(ctx, client, "jobs", func(s *redis.Session) error {
			if err := redis.AsError(s.Do("EVAL", args...)); err != nil {
				return err
			}
			replicas, err := redis.As[int](s.Do("WAIT", 1, patience.Milliseconds()))
			if err == nil && replicas < 1 {
				err = fmt.Errorf("no replica has the jobs")
			}
			return err
		})
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}
