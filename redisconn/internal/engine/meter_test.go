package engine_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// stalling starts a server that runs chaos.ScriptedStalls, and returns its address.
func stalling(t *testing.T) (addr string) {
	return chaos.NewScripted(t, chaos.ScriptedOpts{Handler: chaos.ScriptedStalls}).Addr()
}

// stalls has a function for each stage. The function holds up a connection in that stage, and
// returns when later requests are held up.
var stalls = map[redis.Stage]func(t *testing.T, conn *redisconn.Connection, release chan struct{}){
	redis.StageQueue: func(t *testing.T, conn *redisconn.Connection, _ chan struct{}) {
		conn.Send(redis.Req("STALL"), nil, 0)
		// The value does not fit into the sockets' buffers, so later requests wait to be written.
		conn.Send(redis.Req("SET", "key", bytes.Repeat([]byte("x"), 16<<20)), nil, 0)
		eventually(t, "it is written", func() bool { return conn.Stats().InFlight >= 2 })
	},
	redis.StageWire: func(_ *testing.T, conn *redisconn.Connection, _ chan struct{}) {
		conn.Send(redis.Req("STALL"), nil, 0)
	},
	redis.StageReading: func(*testing.T, *redisconn.Connection, chan struct{}) {},
	redis.StageCallback: func(t *testing.T, conn *redisconn.Connection, release chan struct{}) {
		held := make(chan struct{})
		conn.Send(redis.Req("GET", "key"), redis.FuncFuture(func(any, uint64) { close(held); <-release }), 0)
		<-held
	},
}

// heldUp is how long requests are held up. It is much more than a busy machine adds.
const heldUp = time.Second

// littleOf is how long this process may stand still during heldUp.
const littleOf = heldUp / 2

// If the caller's context ends, the error shows the stage in which the request was. A test of
// internal/lab/virtualtime covers a connection that gives up.
func TestDelayBlamesTheRightStage(t *testing.T) {
	addr := stalling(t)
	send := func(t *testing.T, conn *redisconn.Connection, req redis.Request) []any {
		// There is no deadline: otherwise requests might be refused because they can't meet it.
		ctx, cancel := context.WithCancel(context.Background())
		singles, many := make([]any, 37), []redis.Request{req, req, req}
		if req.Cmd == "CUT" { // requests behind its batch are held up in another stage
			singles = nil
		}
		before, read, began := conn.Pending(), conn.Stats().ReadBytes, time.Now()
		var callers sync.WaitGroup
		for i := range singles {
			callers.Go(func() { singles[i] = redis.SyncCtx{S: conn}.Send(ctx, req) })
		}
		var batch []any
		callers.Go(func() { batch = redis.SyncCtx{S: conn}.SendMany(ctx, many) })
		eventually(t, "all are held up", func() bool {
			return conn.Pending() == before+len(singles)+len(many) && (req.Cmd != "CUT" || conn.Stats().ReadBytes > read)
		})
		time.Sleep(max(heldUp, 2*time.Since(began)))
		cancel()
		callers.Wait()
		return append(singles, batch...)
	}
	for stage, stall := range stalls {
		t.Run(stage.String(), func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			defer close(release)
			blamed, all := 0, 0
			for range 3 {
				steadily(t, littleOf, func() (judge func()) {
					conn, err := redisconn.Connect(t.Context(), addr, redisconn.Opts{
						Logger: redisconn.NoopLogger{}, IOTimeout: time.Minute, DialTimeout: patience,
					})
					if err == nil {
						defer conn.Close()
						err = conn.Ping() // callers read from now on
					}
					if err != nil {
						return func() { require.NoError(t, err) }
					}
					stall(t, conn, release)
					req := redis.Req("GET", "key")
					if stage == redis.StageReading {
						req = redis.Req("CUT")
					}
					results := send(t, conn, req)
					return func() {
						for _, res := range results {
							err := redis.AsError(res)
							d, ok := redis.DelayOf(err)
							all++
							require.True(t, ok, err)
							require.Equal(t, redis.OutcomeOf(err), d.Outcome)
							if d.Longest() == stage {
								blamed++
							} else {
								t.Log(d)
							}
						}
					}
				})
			}
			require.GreaterOrEqual(t, all, 9)
			require.GreaterOrEqual(t, blamed*100, all*95, "%d of %d", blamed, all)
		})
	}
}

// If a request is refused before it is sent, the error contains the stage that holds up earlier
// requests, and their number.
func TestDelayOfOverload(t *testing.T) {
	conn := connect(t, stalling(t), redisconn.Opts{Logger: redisconn.NoopLogger{}, IOTimeout: time.Minute, DialTimeout: patience})
	conn.Send(redis.Req("STALL"), nil, 0)
	conn.Send(redis.Req("SET", "key", "value"), nil, 0)
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		err := redis.AsErrorx(redis.SyncCtx{S: conn}.Do(ctx, "GET", "key"))
		if !err.IsOfType(redis.ErrOverloaded) {
			return false
		}
		d, ok := redis.DelayOf(err)
		require.True(t, ok)
		require.Equal(t, redis.StageWire, d.Longest())
		require.GreaterOrEqual(t, d.AheadRequests, 2)
		require.Greater(t, d.AheadBytes, len("STALL")+len("SET key value"))
		require.Contains(t, err.Error(), "wire")
		return true
	}, 10*time.Second, time.Millisecond)
}

// The next request's caller writes and reads itself. The delay of that request does not include the
// time of an earlier future, which has returned.
func TestDelayAfterAFuture(t *testing.T) {
	t.Parallel()
	addr := stalling(t)
	steadily(t, littleOf, func() (judge func()) {
		conn := connect(t, addr, redisconn.Opts{Logger: redisconn.NoopLogger{}, IOTimeout: time.Minute, DialTimeout: patience})
		resolved := make(chan struct{})
		conn.Send(redis.Req("GET", "key"), redis.FuncFuture(func(any, uint64) { close(resolved) }), 0)
		<-resolved
		ctx, cancel := context.WithCancel(context.Background())
		began := time.Now()
		stalled := make(chan any, 1)
		go func() { stalled <- redis.SyncCtx{S: conn}.Do(ctx, "STALL") }()
		eventually(t, "it is written", func() bool { return conn.Stats().InFlight == 1 })
		time.Sleep(max(heldUp, 2*time.Since(began)))
		cancel()
		d, ok := redis.DelayOf(redis.AsError(<-stalled))
		return func() {
			require.True(t, ok)
			require.Equal(t, redis.StageWire, d.Longest(), "%v", d)
		}
	})
}

// retyped is a user's Sender, so it gets plain requests.
type retyped struct{ redis.Sender }

// No matter how a request was sent, the error of its context contains the time of each stage.
func TestDelayWhicheverWay(t *testing.T) {
	t.Parallel()
	addr, script := stalling(t), redis.NewScript("return 1")
	ways := map[string]func(ctx context.Context, conn *redisconn.Connection) error{
		"Do": func(ctx context.Context, conn *redisconn.Connection) error {
			return redis.AsError(redis.SyncCtx{S: conn}.Do(ctx, "GET", "key"))
		},
		"DoInto": func(ctx context.Context, conn *redisconn.Connection) error {
			var v string
			return redis.SyncCtx{S: conn}.DoInto(ctx, &v, "GET", "key")
		},
		"decorator": func(ctx context.Context, conn *redisconn.Connection) error {
			return redis.AsError(redis.SyncCtx{S: retyped{conn}}.Do(ctx, "GET", "key"))
		},
		"transaction": func(ctx context.Context, conn *redisconn.Connection) error {
			_, err := redis.SyncCtx{S: conn}.SendTransaction(ctx, []redis.Request{redis.Req("GET", "key")})
			return err
		},
		"scan": func(ctx context.Context, conn *redisconn.Connection) error {
			_, err := redis.SyncCtx{S: conn}.Scanner(ctx, redis.ScanOpts{}).Next()
			return err
		},
		"script": func(ctx context.Context, conn *redisconn.Connection) error {
			s := redis.SyncCtx{S: redis.WithScripts(conn, script)}
			return redis.AsError(s.Send(ctx, script.Request(nil, nil)))
		},
	}
	steadily(t, littleOf, func() (judge func()) {
		conn := connect(t, addr, redisconn.Opts{Logger: redisconn.NoopLogger{}, IOTimeout: time.Minute, DialTimeout: patience})
		began := time.Now()
		conn.Send(redis.Req("STALL"), nil, 0)
		ctx, cancel := context.WithCancel(context.Background())
		var all sync.WaitGroup
		var errs sync.Map // by way
		for name, send := range ways {
			all.Go(func() { errs.Store(name, send(ctx, conn)) })
		}
		eventually(t, "all are held up", func() bool { return conn.Pending() == 1+len(ways) })
		time.Sleep(max(heldUp, 2*time.Since(began)))
		cancel()
		all.Wait()
		return func() {
			for name := range ways {
				got, _ := errs.Load(name)
				err, _ := got.(error)
				d, known := redis.DelayOf(err)
				assert.True(t, known, "%s: %v", name, err)
				assert.Equal(t, redis.StageWire, d.Longest(), "%s: %v", name, d)
				assert.Positive(t, d.AheadRequests, name)
			}
		}
	})
}

// The time that a request waits for room in the queue counts as time in the queue.
func TestDelayOfAFullQueue(t *testing.T) {
	conn := connect(t, stalling(t), redisconn.Opts{Logger: redisconn.NoopLogger{}, IOTimeout: time.Minute, DialTimeout: patience, MaxRequests: 2})
	conn.Send(redis.Req("STALL"), nil, 0)
	conn.Send(redis.Req("GET", "key"), nil, 0)
	for _, send := range []func(ctx context.Context) any{
		func(ctx context.Context) any { return redis.SyncCtx{S: conn}.Do(ctx, "GET", "key") },
		func(ctx context.Context) any {
			return redis.SyncCtx{S: conn}.SendMany(ctx, []redis.Request{redis.Req("GET", "key")})[0]
		},
	} {
		ctx, cancel := context.WithCancel(context.Background())
		result := make(chan any, 1)
		go func() { result <- send(ctx) }()
		require.Eventually(t, func() bool { return conn.Stats().WaitingForRoom == 1 }, 10*time.Second, time.Millisecond)
		cancel()
		err := redis.AsError(<-result)
		d, known := redis.DelayOf(err)
		require.True(t, known, "%v", err)
		require.Equal(t, redis.StageQueue, d.Longest(), "%v", d)
		require.Equal(t, 2, d.AheadRequests)
		require.Equal(t, redis.OutcomeNotSent, d.Outcome)
	}
}

// standstill starts a measurement. measured ends it, and returns the longest time for which this
// process, or its machine, did not run.
func standstill() (measured func() time.Duration) {
	stop, longest := make(chan struct{}), make(chan time.Duration)
	go func() { // ends with measured
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		most, last := time.Duration(0), time.Now()
		for running := true; running; {
			select {
			case <-ticker.C:
			case <-stop:
				running = false
			}
			most = max(most, time.Since(last))
			last = time.Now()
		}
		longest <- most
	}()
	return func() time.Duration {
		close(stop)
		return <-longest
	}
}

// steadily calls measure until the process ran without a longer pause than little. Then it calls
// judge. A pause would change the measured shares of time.
func steadily(t testing.TB, little time.Duration, measure func() (judge func())) {
	t.Helper()
	for {
		measured := standstill()
		judge := measure()
		stood := measured()
		if stood < little {
			judge()
			return
		}
		t.Logf("measured again: the process has stood still for %v", stood)
	}
}
