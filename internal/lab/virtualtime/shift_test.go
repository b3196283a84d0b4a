package virtualtime

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisfailover"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// database is a member of a client. It counts in memory, and fails when the test tells it to.
type database struct {
	*chaos.ScriptedServer
	pipes       *pipes
	name        string
	conns       sync.Map     // the *chaos.ScriptedConns that have sent a request
	gets, incrs atomic.Int64 // the number of GETs and INCRs that ran
	// While frozen is set, no answer is sent. While dead is set, connections are refused. While
	// mute is set, requests run but are not answered.
	frozen, dead, mute atomic.Bool
	loading            atomic.Bool  // while set, two of three INCRs are refused
	asked              atomic.Int64 // number of INCRs while loading is set
}

func newDatabase(t *testing.T, n int) *database {
	d := &database{pipes: newPipes(fmt.Sprintf("10.1.0.%d:6379", n)), name: fmt.Sprintf("m%d", n)}
	d.ScriptedServer = chaos.NewScripted(t, chaos.ScriptedOpts{Listener: d.pipes, Raw: true, Handler: d.answer})
	return d
}

// dial is a redisconn.Opts.Dialer.
func (d *database) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if d.dead.Load() {
		return nil, fmt.Errorf("connection refused")
	}
	return d.pipes.dial(ctx, network, addr)
}

func (d *database) answer(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
	d.conns.Store(c, true)
	if d.frozen.Load() {
		<-c.Done()
		return net.ErrClosed
	}
	reply := "+OK\r\n"
	switch r.Cmd {
	case "PING":
		reply = "+PONG\r\n"
		if len(r.Args) > 0 {
			reply = chaos.ScriptedBulk(r.Args[0])
		}
	case "HELLO", "CLIENT":
		reply = "-ERR unknown command\r\n"
	case "BLPOP":
		<-c.Done()
		return net.ErrClosed
	case "GET", "INCR":
		if r.Cmd == "INCR" && d.loading.Load() && d.asked.Add(1)%3 > 0 {
			reply = "-LOADING two of three\r\n"
			break
		}
		if d.gets.Add(1); r.Cmd == "INCR" {
			d.incrs.Add(1)
		}
		if d.mute.Load() {
			<-c.Done()
			return net.ErrClosed
		}
		reply = chaos.ScriptedBulk(d.name)
	}
	_, err := c.Write([]byte(reply))
	return err
}

// kill closes all connections and refuses new ones.
func (d *database) kill() {
	d.dead.Store(true)
	d.conns.Range(func(c, _ any) bool {
		c.(*chaos.ScriptedConn).Close()
		return true
	})
}

// events is a logger that keeps a client's events as text.
type events struct {
	mu   sync.Mutex // guards seen
	seen []string
}

func (e *events) Report(_ *redisfailover.Client, event redisfailover.LogEvent) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch ev := event.(type) {
	case redisfailover.LogShift:
		e.seen = append(e.seen, fmt.Sprintf("%s to %s: %v", ev.From, ev.To, ev.Reason))
	case redisfailover.LogDown:
		e.seen = append(e.seen, ev.Member+" down")
	case redisfailover.LogUp:
		e.seen = append(e.seen, ev.Member+" up")
	}
}

func (e *events) all() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(e.seen, ", ")
}

// failing runs a test with a client of two members, m1 and m2, in a bubble.
func failing(t *testing.T, test func(t *testing.T, db *redisfailover.Client, m1, m2 *database, seen *events)) {
	Run(t, func(t *testing.T) {
		m1, m2, seen := newDatabase(t, 1), newDatabase(t, 2), new(events)
		var members []redisfailover.Member
		for i, d := range []*database{m1, m2} {
			members = append(members, redisfailover.Member{
				Name: d.name, URL: "redis://" + d.pipes.addr, Weight: -i,
				Options: []redispipe.Option{redispipe.Logger(nil), redispipe.Conn(func(o *redisconn.Opts) { o.Dialer = d.dial })},
			})
		}
		db, err := redisfailover.Open(t.Context(), members, redisfailover.Opts{Logger: seen})
		require.NoError(t, err)
		defer db.Close()
		require.Equal(t, []byte("m1"), db.Do(t.Context(), "INCR", "k"))
		test(t, db, m1, m2, seen)
	})
}

// Requests succeed again within one IOTimeout after the active member was lost, no matter how the
// member fails.
func TestShift(t *testing.T) {
	const within = time.Second // IOTimeout
	for name, fault := range map[string]func(*database){
		"it is killed": (*database).kill,
		"it is frozen": func(d *database) { d.frozen.Store(true) },
	} {
		t.Run(name, func(t *testing.T) {
			failing(t, func(t *testing.T, db *redisfailover.Client, m1, m2 *database, seen *events) {
				time.Sleep(10 * time.Second)
				require.Empty(t, seen.all(), "all is well")
				fault(m1)
				began := time.Now()
				var all sync.WaitGroup
				var good atomic.Int64
				var first atomic.Int64 // when the first value came
				for range 40 {
					time.Sleep(25 * time.Millisecond)
					all.Go(func() {
						res := db.Do(t.Context(), "INCR", "k")
						if redis.OutcomeOf(res) != redis.OutcomeUnknown && assert.Equal(t, []byte("m2"), res) {
							good.Add(1)
							first.CompareAndSwap(0, int64(time.Since(began)))
						}
					})
				}
				all.Wait()
				t.Logf("%v, %d of 40", time.Duration(first.Load()), good.Load())
				require.Less(t, time.Duration(first.Load()), within)
				require.Equal(t, good.Load(), m2.incrs.Load(), "each ran once")
				require.Equal(t, int64(1), m1.incrs.Load())
				require.Equal(t, "m1 down, m1 to m2: failed", seen.all())
			})
		})
	}
}

// A request that may have run on the lost member is sent to the other one only if it is a read.
func TestShiftByOutcome(t *testing.T) {
	failing(t, func(t *testing.T, db *redisfailover.Client, m1, m2 *database, _ *events) {
		m1.mute.Store(true)
		write := make(chan any, 1)
		go func() { write <- db.Do(t.Context(), "INCR", "k") }()
		synctest.Wait()
		read := make(chan any, 1)
		go func() { read <- db.Do(t.Context(), "GET", "k") }()
		synctest.Wait()
		require.Equal(t, int64(2), m1.incrs.Load(), "one before, and this one")
		m1.kill()
		res := <-write
		require.Equal(t, redis.OutcomeUnknown, redis.OutcomeOf(res), "%v", res)
		require.Equal(t, []byte("m2"), <-read)
		require.Zero(t, m2.incrs.Load())
	})
}

// After a member is restored, it becomes active again when Failback has passed.
func TestShiftBack(t *testing.T) {
	failing(t, func(t *testing.T, db *redisfailover.Client, m1, m2 *database, seen *events) {
		m1.kill()
		require.Equal(t, []byte("m2"), db.Do(t.Context(), "GET", "k"))
		m1.dead.Store(false)
		back := time.Now()
		for string(db.Do(t.Context(), "GET", "k").([]byte)) == "m2" {
			time.Sleep(10 * time.Millisecond)
		}
		require.InDelta(t, 10.5, time.Since(back).Seconds(), 0.6)
		require.Equal(t, "m1 down, m1 to m2: failed, m1 up, m2 to m1: restored", seen.all())
		time.Sleep(time.Minute)
		require.Equal(t, 4, strings.Count(seen.all(), ",")+1, seen.all())
	})
}

// A member that is lost again right after the return to it loses its requests again within one IOTimeout, because
// nothing has failed on the other one. If both are lost in turn, shifts are Failback apart.
func TestShiftAfterReturn(t *testing.T) {
	failing(t, func(t *testing.T, db *redisfailover.Client, m1, m2 *database, seen *events) {
		lose := func(d, other *database) time.Duration {
			d.kill()
			other.dead.Store(false)
			began := time.Now()
			for redis.OutcomeOf(db.Do(t.Context(), "INCR", "k")) != redis.OutcomeValue {
			}
			return time.Since(began)
		}
		for range 3 {
			require.Less(t, lose(m1, m2), time.Second)
			m1.dead.Store(false)
			for string(db.Do(t.Context(), "GET", "k").([]byte)) == "m2" {
				time.Sleep(10 * time.Millisecond)
			}
		}
		seen.mu.Lock()
		seen.seen = nil
		seen.mu.Unlock()
		time.Sleep(time.Minute)
		began := time.Now()
		for i := range 6 {
			d, other := m1, m2
			if i%2 > 0 {
				d, other = m2, m1
			}
			lose(d, other)
		}
		require.LessOrEqual(t, strings.Count(seen.all(), " to "), int(time.Since(began)/(10*time.Second))+1, seen.all())
	})
}

// A session ends when another member becomes active.
func TestShiftEndsSessions(t *testing.T) {
	failing(t, func(t *testing.T, db *redisfailover.Client, m1, m2 *database, _ *events) {
		err := db.Session(t.Context(), "", func(s *redis.Session) error {
			require.Equal(t, []byte("m1"), s.Do("INCR", "k"))
			require.NoError(t, db.SwitchTo("m2"))
			return redis.Err(s.Do("INCR", "k"))
		})
		require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrSessionLost), "%v", err)
		require.ErrorIs(t, err, redis.ErrNotSent)
		require.ErrorContains(t, err, "m1 is not the active member any more")
		require.Zero(t, m2.incrs.Load())
	})
}

// When the client shifts, blocking commands are unblocked. Those that did nothing are sent to the other
// member.
func TestShiftUnblocks(t *testing.T) {
	failing(t, func(t *testing.T, db *redisfailover.Client, m1, m2 *database, _ *events) {
		popped := make(chan any, 1)
		go func() { popped <- db.Do(t.Context(), "BLPOP", "k", 0) }()
		synctest.Wait()
		require.NoError(t, db.SwitchTo("m2"))
		res := <-popped // m1 can't tell that the command did nothing
		require.Equal(t, redis.OutcomeUnknown, redis.OutcomeOf(res), "%v", res)
		require.ErrorContains(t, redis.Err(res), "m1 is not the active member any more")
		require.NotErrorIs(t, redis.Err(res), context.Canceled, "its caller's context has not ended")
	})
}

// While both members refuse two of three requests, although probes succeed, the client shifts at
// most once per Failback. Each request that succeeded ran once. The test takes a minute of virtual
// time, and half an hour with REDISPIPE_LONG.
func TestShiftsWhileBothFail(t *testing.T) {
	minutes := 1
	if os.Getenv("REDISPIPE_LONG") != "" {
		minutes = 30
	}
	failing(t, func(t *testing.T, db *redisfailover.Client, m1, m2 *database, seen *events) {
		before := m1.incrs.Load() + m2.incrs.Load()
		m1.loading.Store(true)
		m2.loading.Store(true)
		var good int64
		for began := time.Now(); time.Since(began) < time.Duration(minutes)*time.Minute; time.Sleep(10 * time.Millisecond) {
			if redis.OutcomeOf(db.Do(t.Context(), "INCR", "k")) == redis.OutcomeValue {
				good++
			}
		}
		shifts := strings.Count(seen.all(), " to ")
		t.Logf("%d shifts, %d good", shifts, good)
		require.Greater(t, shifts, 2)
		require.LessOrEqual(t, shifts, 6*minutes+1)
		require.Equal(t, good, m1.incrs.Load()+m2.incrs.Load()-before)
	})
}

// A master with sentinels is a member like any other: while its master is frozen, requests go to the other member, and
// they return when the sentinels have another master.
func TestShiftFromSentinels(t *testing.T) {
	Run(t, func(t *testing.T) {
		g := &pipeGroup{master: old, conns: make(map[string][]net.Conn)}
		opts := redisconn.Opts{Dialer: g.dial}
		group, err := rediscluster.NewSentinel(t.Context(), []string{"10.0.0.9:26379"}, "main", rediscluster.Opts{
			HostOpts: opts, SentinelOpts: opts, Logger: rediscluster.NoopLogger{},
		})
		require.NoError(t, err)
		m2, seen := newDatabase(t, 2), new(events)
		db, err := redisfailover.Open(t.Context(), []redisfailover.Member{{Name: "m1", Sender: group, Weight: 1}, {
			Name: "m2", URL: "redis://" + m2.pipes.addr,
			Options: []redispipe.Option{redispipe.Logger(nil), redispipe.Conn(func(o *redisconn.Opts) { o.Dialer = m2.dial })},
		}}, redisfailover.Opts{Logger: seen})
		require.NoError(t, err)
		defer db.Close()
		until := func(name string) time.Duration {
			began := time.Now()
			for !slices.ContainsFunc(db.Members(), func(m redisfailover.MemberState) bool { return m.Active && m.Name == name }) {
				require.Less(t, time.Since(began), time.Minute)
				time.Sleep(10 * time.Millisecond)
			}
			return time.Since(began)
		}
		require.Equal(t, "OK", db.Do(t.Context(), "GET", "k"))
		time.Sleep(time.Second)
		g.mu.Lock()
		g.silent = old
		g.mu.Unlock()
		inFlight, began := make(chan any, 2), time.Now()
		for _, cmd := range []string{"GET", "INCR"} {
			go func() {
				inFlight <- db.Do(t.Context(), cmd, "k")
				t.Logf("%s in flight: %v", cmd, time.Since(began))
			}()
		}
		require.Less(t, until("m2"), time.Second, "one IOTimeout")
		require.Equal(t, []byte("m2"), db.Do(t.Context(), "GET", "k"))
		ended := []any{<-inFlight, <-inFlight}
		require.Less(t, time.Since(began), 1500*time.Millisecond, "the servers of m1 are not tried again")
		require.Contains(t, ended, any([]byte("m2")), "the read")
		require.True(t, slices.ContainsFunc(ended, func(res any) bool { return redis.OutcomeOf(res) == redis.OutcomeUnknown }), "the write")
		require.Zero(t, m2.incrs.Load())
		g.promote(next)
		until("m1")
		require.Equal(t, "OK", db.Do(t.Context(), "GET", "k"))
		require.Equal(t, "m1 down, m1 to m2: failed, m1 up, m2 to m1: restored", seen.all())
	})
}
