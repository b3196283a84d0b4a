package torture

import (
	"context"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// T23: while 1 to 24 callers send, connections end at random: by Close, Shutdown, a context or a
// killed server. No goroutine outlives its connection, and every request has one outcome.
// TORTURE_ROUNDS sets the number of connections.
func TestT23NothingOutlivesAConnection(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	rounds := long(200, 60)
	if n, err := strconv.Atoi(os.Getenv("TORTURE_ROUNDS")); err == nil {
		rounds = n
	}
	server := testbed.NewServer(t)
	rnd := rand.New(rand.NewSource(seed))
	ends := map[string]int{}
	began := time.Now()
	for round := range rounds {
		ends[endOne(t, server, rnd, round)]++
		if time.Since(began) > time.Minute || round == rounds-1 {
			began = time.Now()
			t.Logf("%d rounds: %v", round+1, ends)
			require.NoError(t, redis.AsError(server.Do("FLUSHALL")))
		}
	}
}

// endings are the ways in which a connection of T23 ends.
var endings = map[string]func(e *ending){
	"close":         func(e *ending) { e.conn.Close() },
	"cancel":        func(e *ending) { e.cancel() },
	"shutdown":      func(e *ending) { e.shutdown() },
	"kill":          func(e *ending) { e.kill(); e.wait(); e.conn.Close() },
	"kill at once":  func(e *ending) { go e.conn.Close(); e.kill(); e.conn.Close() },
	"close twice":   func(e *ending) { go e.cancel(); e.conn.Close() },
	"in a future":   func(e *ending) { e.inFuture(e.conn.Close) },
	"kill, cancel":  func(e *ending) { e.kill(); e.cancel() },
	"kill, wait":    func(e *ending) { e.kill(); e.wait(); e.shutdown() },
	"cancel, close": func(e *ending) { e.cancel(); e.wait(); e.conn.Close() },
}

// ending has what is needed to end a connection.
type ending struct {
	conn    *redisconn.Connection
	cancel  context.CancelFunc
	server  *testbed.Server
	patient time.Duration
}

func (e *ending) wait() { time.Sleep(e.patient) }

func (e *ending) kill() { e.server.Do("CLIENT", "KILL", "TYPE", "normal") }

func (e *ending) shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), e.patient)
	defer cancel()
	_ = e.conn.Shutdown(ctx)
}

func (e *ending) inFuture(f func()) {
	done := make(chan struct{})
	e.conn.Send(redis.Req("PING"), redis.FuncFuture(func(any, uint64) {
		f()
		close(done)
	}), 0)
	<-done
}

// endOne makes a connection, ends it under load, and checks that nothing of it remains.
func endOne(t *testing.T, server *testbed.Server, rnd *rand.Rand, round int) (name string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	opts := untimed()
	opts.Logger, opts.Integrity = redisconn.NoopLogger{}, rnd.Intn(3) == 0
	conn, err := redisconn.Connect(ctx, server.Addr(), opts)
	require.NoError(t, err)
	w := Witnesses{seed: rnd.Int63()}
	w.NewLedger(fmt.Sprintf("t23-%d-%d", seed, round))
	load := w.load(conn, 1+rnd.Intn(24), 0)
	load.Window = 1 + rnd.Intn(4)
	if rnd.Intn(3) == 0 {
		load.Timeout = time.Duration(1 + rnd.Intn(int(3*time.Millisecond)))
	}
	run, stop := context.WithCancel(context.Background())
	var callers sync.WaitGroup
	callers.Go(func() { load.Run(run) })

	time.Sleep(time.Duration(rnd.Intn(int(3 * time.Millisecond))))
	names := slices.Sorted(maps.Keys(endings))
	name = names[rnd.Intn(len(names))]
	endings[name](&ending{conn, cancel, server, time.Duration(rnd.Intn(int(5 * time.Millisecond)))})
	stop()
	callers.Wait()
	left := oracle.Goroutines{}.Left(patience, engines...)
	require.Empty(t, left, "round %d of seed %d, %s, Integrity %v", round, seed, name, opts.Integrity)
	report, err := w.verify(server.Do, patience)
	require.NoError(t, err)
	passes(t, report)
	return name
}
