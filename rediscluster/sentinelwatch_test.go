package rediscluster_test

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// newScripted makes a client of scripted sentinels that does not poll them.
func newScripted(t *testing.T, first *scriptedSentinel, opts rediscluster.Opts) *rediscluster.Cluster {
	t.Helper()
	opts = patient(opts)
	opts.CheckInterval = 10 * time.Minute
	c, err := rediscluster.NewSentinel(context.Background(), []string{first.Addr()}, "main", opts)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// serves waits until requests go to a server.
func serves(t *testing.T, c *rediscluster.Cluster, s *testbed.Server) {
	t.Helper()
	want := runIDOf(s)
	require.Eventually(t, func() bool {
		info := asBytes(redis.Sync{S: c}.Do("INFO", "server"))
		return infoLine(string(info), "run_id") == want
	}, patience, time.Millisecond)
}

// An event is enough to switch masters, without a failed request and without polling.
func TestSentinelEventMovesTheClient(t *testing.T) {
	old, next := testbed.NewServer(t), testbed.NewServer(t)
	sentinel := newScriptedSentinel(t, old.Addr(), 1)
	c := newScripted(t, sentinel, rediscluster.Opts{})
	require.Equal(t, runIDOf(old), runID(t, c))
	require.Eventually(t, func() bool { return sentinel.publish("+sentinel") > 0 }, patience, time.Millisecond)
	// The client may notice the first moves by the questions that it asks after it has subscribed.
	for epoch := 2; epoch < 8; epoch += 2 {
		sentinel.name(next.Addr(), epoch)
		sentinel.publish("+promoted-slave")
		serves(t, c, next)
		sentinel.name(old.Addr(), epoch+1)
		sentinel.publish("+promoted-slave")
		serves(t, c, old)
	}
	sentinel.name(next.Addr(), 8)
	sentinel.publish("+promoted-slave")
	serves(t, c, next)

	// A sentinel that was frozen reports old events, which the client ignores.
	other := newScriptedSentinel(t, next.Addr(), 8)
	sentinel.mu.Lock()
	sentinel.others = []string{other.Addr()}
	sentinel.mu.Unlock()
	sentinel.publish("+sentinel")
	require.Eventually(t, func() bool { return other.publish("+sentinel") > 0 }, patience, time.Millisecond)
	heeds := func(s *scriptedSentinel) {
		asked := s.asked()
		require.Eventually(t, func() bool { // the client asks a second time only after the first answer
			s.publish("+switch-master")
			return s.asked() > asked+1
		}, patience, time.Millisecond)
	}
	heeds(other)
	sentinel.name(old.Addr(), 1)
	heeds(sentinel)
	require.Equal(t, runIDOf(next), runID(t, c))
}

// The client also polls a sentinel that ends or refuses a subscription.
func TestSentinelSubscriptionsAreRenewed(t *testing.T) {
	old, next := testbed.NewServer(t), testbed.NewServer(t)
	sentinel := newScriptedSentinel(t, old.Addr(), 1)
	sentinel.deaf = true
	c := newScripted(t, sentinel, rediscluster.Opts{})
	sentinel.name(next.Addr(), 2)
	serves(t, c, next)

	sentinel.mu.Lock()
	sentinel.deaf = false
	sentinel.mu.Unlock()
	subscribed := func() bool { return sentinel.publish("+sentinel") > 0 }
	require.Eventually(t, subscribed, patience, time.Millisecond)
	sentinel.mu.Lock()
	for _, conn := range sentinel.subscribers {
		conn.Close()
	}
	sentinel.subscribers = nil
	sentinel.mu.Unlock()
	require.Eventually(t, subscribed, patience, time.Millisecond)
}

// The client does not even dial an address that no sentinel confirms, neither while sentinels disagree
// nor after a server has redirected to it.
func TestSentinelSendsNothingToStrangers(t *testing.T) {
	one, two := chaos.NewScripted(t, chaos.ScriptedOpts{}), chaos.NewScripted(t, chaos.ScriptedOpts{})
	first, second := newScriptedSentinel(t, one.Addr(), 3), newScriptedSentinel(t, two.Addr(), 3)
	opts := rediscluster.Opts{HostOpts: redisconn.Opts{Password: "secret"}}
	err := sentinelError(t, rediscluster.ErrSentinelsDisagree, []string{first.Addr(), second.Addr()}, "main", opts)
	for _, said := range []string{`"main"`, one.Addr() + " by " + first.Addr(), two.Addr() + " by " + second.Addr()} {
		require.ErrorContains(t, err, said)
	}
	require.NotContains(t, err.Error(), "secret")
	require.Zero(t, one.Accepted()+two.Accepted())

	master := testbed.NewServer(t)
	first.name(master.Addr(), 1)
	c := newScripted(t, first, rediscluster.Opts{})
	moved := redis.Sync{S: c}.Do("EVAL", "return redis.error_reply('MOVED 1 "+one.Addr()+"')", 0)
	require.True(t, redis.AsErrorx(moved).IsOfType(redis.ErrMoved), "%v", moved)
	require.Zero(t, one.Accepted())
}

// While the client waits for a frozen sentinel, it handles the events of another one.
func TestFrozenSentinelHoldsUpNobody(t *testing.T) {
	old, next := testbed.NewServer(t), testbed.NewServer(t)
	sentinel, frozen := newScriptedSentinel(t, old.Addr(), 1), newScriptedSentinel(t, old.Addr(), 1)
	sentinel.others = []string{frozen.Addr()}
	c := newScripted(t, sentinel, rediscluster.Opts{SentinelOpts: redisconn.Opts{IOTimeout: time.Minute}})
	for _, s := range []*scriptedSentinel{sentinel, frozen} {
		require.Eventually(t, func() bool { return s.publish("+sentinel") > 0 }, patience, time.Millisecond)
	}
	end := frozen.silence()
	defer end()
	c.ForceReloading()
	sentinel.name(next.Addr(), 2)
	sentinel.publish("+switch-master")
	serves(t, c, next)
}

// Requests that the old master does not answer end as unknown, long before their time-out, and the
// callers continue with the new master.
func TestSentinelMoveEndsWhatIsInFlight(t *testing.T) {
	taken := make(chan struct{}, 1)
	old := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		reply := "*3\r\n" + chaos.ScriptedBulk("master") + ":0\r\n*0\r\n" // the reply to ROLE
		switch r.Cmd {
		case "INFO":
			reply = chaos.ScriptedBulk("role:master\r\n")
		case "SET":
			taken <- struct{}{}
			<-c.Done()
		}
		_, err := c.Write([]byte(reply))
		return err
	}})
	next := testbed.NewServer(t)
	sentinel := newScriptedSentinel(t, old.Addr(), 1)
	c := newScripted(t, sentinel, rediscluster.Opts{HostOpts: redisconn.Opts{IOTimeout: time.Hour}})
	require.Eventually(t, func() bool { return sentinel.publish("+sentinel") > 0 }, patience, time.Millisecond)
	waits := redis.ChanFutured{S: c}.Send(redis.Req("SET", "a", "1"))
	<-taken
	sentinel.name(next.Addr(), 2)
	sentinel.publish("+switch-master")
	err := redis.AsErrorx(waits.Value())
	require.True(t, err.IsOfType(redis.ErrIO), "%v", err)
	require.False(t, err.HasTrait(redis.ErrTraitNotSent), "%v", err)
	require.ErrorContains(t, err, "another one has taken its place")
	serves(t, c, next)
	require.Nil(t, next.Do("GET", "a"), "it is not sent again")
}

// A Watch that has begun on the old master begins again on the new one.
func TestSentinelMoveOfWatch(t *testing.T) {
	old, next := testbed.NewServer(t), testbed.NewServer(t)
	sentinel := newScriptedSentinel(t, old.Addr(), 1)
	c := newScripted(t, sentinel, rediscluster.Opts{})
	attempts := 0
	_, err := redis.Watch(t.Context(), c, []string{"a"}, func(tx *redis.Tx) error {
		if attempts++; attempts == 1 {
			sentinel.name(next.Addr(), 2)
			c.ForceReloading()
			serves(t, c, next)
			require.Eventually(t, func() bool { // the client closes the socket of the Watch soon after
				clients, _ := old.Do("CLIENT", "LIST").([]byte)
				return !bytes.Contains(clients, []byte("cmd=watch"))
			}, patience, time.Millisecond)
		}
		tx.Queue("SET", "a", attempts)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []byte("2"), next.Do("GET", "a"))
	require.Nil(t, old.Do("GET", "a"))
}

// If a Watch finds no master, its error is not the one for keys of several slots.
func TestSentinelWatchWithoutMaster(t *testing.T) {
	master := testbed.NewServer(t)
	c := newScripted(t, newScriptedSentinel(t, master.Addr(), 1), rediscluster.Opts{})
	require.NoError(t, master.Kill())
	_, err := redis.WatchAtMost(t.Context(), 1, c, []string{"a"}, func(*redis.Tx) error { return nil })
	require.True(t, redis.AsErrorx(err).HasTrait(redis.ErrTraitConnectivity), "%v", err)
}

// Requests that wait for a frozen master go to the new master once it is replaced, even if the old
// one thaws at that moment.
func TestSentinelMoveTakesBackWhatIsNotWritten(t *testing.T) {
	began, thaw := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var mu sync.Mutex // guards ran
	var ran []string
	old := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		reply := "*3\r\n" + chaos.ScriptedBulk("master") + ":0\r\n*0\r\n" // the reply to ROLE
		switch r.Cmd {
		case "INFO":
			reply = chaos.ScriptedBulk("role:master\r\n")
		case "SET":
			once.Do(func() { close(began) })
			<-thaw
			mu.Lock()
			ran = append(ran, r.Args[0])
			mu.Unlock()
			reply = "+OK\r\n"
		}
		_, err := c.Write([]byte(reply))
		return err
	}})
	next := testbed.NewServer(t)
	sentinel := newScriptedSentinel(t, old.Addr(), 1)
	moves := make(moveLog, 100)
	c, err := rediscluster.NewSentinel(context.Background(), []string{sentinel.Addr()}, "main", rediscluster.Opts{
		ConnsPerHost: 1, Logger: moves, HostOpts: redisconn.Opts{IOTimeout: time.Hour},
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	require.Eventually(t, func() bool { return sentinel.publish("+sentinel") > 0 }, patience, time.Millisecond)

	value := strings.Repeat("v", 256<<10)
	futures := make([]*redis.ChanFuture, 64) // more than the sockets buffer
	for i := range futures {
		futures[i] = redis.ChanFutured{S: c}.Send(redis.Req("SET", strconv.Itoa(i), value))
		<-began
	}
	sentinel.name(next.Addr(), 2)
	sentinel.publish("+switch-master")
	for masters := range moves {
		if masters[0] == next.Addr() {
			break
		}
	}
	close(thaw)
	last := strconv.Itoa(len(futures) - 1)
	require.Equal(t, "OK", futures[len(futures)-1].Value())
	for _, f := range futures {
		f.Value()
	}
	require.Equal(t, int64(1), next.Do("EXISTS", last))
	mu.Lock()
	defer mu.Unlock()
	for _, key := range ran {
		require.NotEqual(t, last, key)
		require.Equal(t, int64(0), next.Do("EXISTS", key), key)
	}
}

// Only sentinels get the password of the sentinels, and only servers get the password of the servers.
func TestSentinelPasswordsGoWhereTheyBelong(t *testing.T) {
	answer := chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		_, err := c.Write([]byte(map[string]string{"AUTH": "+OK\r\n", "ROLE": "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"}[r.Cmd]))
		return err
	}}
	master, stranger := chaos.NewScripted(t, answer), chaos.NewScripted(t, answer)
	first, second := newScriptedSentinel(t, master.Addr(), 1), newScriptedSentinel(t, stranger.Addr(), 0)
	first.others = []string{second.Addr()}
	newScripted(t, first, rediscluster.Opts{
		HostOpts:     redisconn.Opts{Password: "of the servers"},
		SentinelOpts: redisconn.Opts{Username: "watcher", Password: "of the sentinels"},
	})
	require.Eventually(t, func() bool { return second.asked() > 0 }, patience, time.Millisecond)
	saw := func(s *chaos.ScriptedServer) (args []string) {
		for _, r := range s.Requests() {
			args = append(args, r.Args...)
		}
		return args
	}
	for _, s := range []*chaos.ScriptedServer{first.ScriptedServer, second.ScriptedServer} {
		require.Contains(t, saw(s), "of the sentinels")
		require.NotContains(t, saw(s), "of the servers")
	}
	require.Contains(t, saw(master), "of the servers")
	require.NotContains(t, saw(master), "of the sentinels")
	require.Zero(t, stranger.Accepted(), "a lower epoch names it")
}
