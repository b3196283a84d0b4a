package rediscluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/oplog"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// rude is a user whose functions do not return.
type rude struct {
	calls atomic.Int64
	end   func()
}

func (r *rude) ends() {
	r.calls.Add(1)
	r.end()
}

func (r *rude) Report(*Cluster, LogEvent) { r.ends() }

func (r *rude) ReqStat(*Cluster, *redisconn.Connection, Request, any, int64, int64, int64) {
	panic("rude")
}

func (r *rude) WantsReqStat() bool { panic("rude") }

func (r *rude) GetWeightByHost(string) (uint32, bool) {
	r.ends()
	return 0, false
}

func (r *rude) zone(string) string {
	r.ends()
	return ""
}

// notReturning holds the ways in which a function can end without returning.
var notReturning = map[string]func(){
	"panic": func() { panic("rude") },
	"exit":  runtime.Goexit,
}

func TestUserFunctionsNeedNotReturn(t *testing.T) {
	for way, end := range notReturning {
		t.Run(way, func(t *testing.T) { outlivesUserFunctions(t, end) })
	}
}

func outlivesUserFunctions(t *testing.T, end func()) {
	log.SetOutput(io.Discard) // the DefaultLogger reports panics of the user's logger
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	node := newScriptedNode(t, chaos.ScriptedReplies("+OK\r\n"))
	logger, weights, zones := &rude{end: end}, &rude{end: end}, &rude{end: end}
	c, _ := connect(t, []string{node.Addr()}, Opts{
		Logger: logger, WeightProvider: weights, Zone: "here", ZoneOf: zones.zone, CheckInterval: minCheckInterval,
	})
	refreshed := func() {
		asked := node.asked.Load()
		await(t, "refresh", func() bool { return node.asked.Load() > asked+1 })
	}
	refreshed()
	assert.Positive(t, weights.calls.Load())
	assert.Positive(t, zones.calls.Load())
	assert.Equal(t, "OK", redis.Sync{S: c}.Do("GET", "key"))
	node.serve("127.0.0.1:1") // so that the refresher reports a change
	c.ForceReloading()
	await(t, "new topology", func() bool { return c.topology.Load().Find(node.Addr()) == nil })
	c.Close()
	<-c.refresher.done
	calls := logger.calls.Load()
	c.ended()
	assert.Greater(t, logger.calls.Load(), calls)
}

// stuck is a WeightProvider that blocks from a certain time on, until the test ends.
type stuck struct {
	blocks  atomic.Bool
	blocked chan struct{} // has room for one
	over    chan struct{}
}

func (s *stuck) GetWeightByHost(string) (uint32, bool) {
	if s.blocks.Load() {
		select {
		case s.blocked <- struct{}{}:
		default:
		}
		<-s.over
	}
	return 0, false
}

// Close ends a cluster whose WeightProvider blocks, and the waits for the topology.
func TestCloseWhileTheWeightProviderBlocks(t *testing.T) {
	node := newScriptedNode(t, chaos.ScriptedReplies("+OK\r\n"))
	weights := &stuck{blocked: make(chan struct{}, 1), over: make(chan struct{})}
	c, _ := connect(t, []string{node.Addr()}, Opts{WeightProvider: weights})
	t.Cleanup(func() { close(weights.over) })
	weights.blocks.Store(true)
	c.ForceReloading()
	<-weights.blocked
	waits := make(chan struct{})
	c.refresher.afterRefresh(func() { close(waits) })
	c.Close()
	<-c.refresher.done
	<-waits
}

// NewCluster returns a cluster when its context ends, although the WeightProvider still blocks, because it
// has the topology by then.
func TestNewClusterWhileTheWeightProviderBlocks(t *testing.T) {
	node := newScriptedNode(t, chaos.ScriptedReplies("+OK\r\n"))
	weights := &stuck{blocked: make(chan struct{}, 1), over: make(chan struct{})}
	t.Cleanup(func() { close(weights.over) })
	weights.blocks.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	go func() {
		<-weights.blocked
		cancel()
	}()
	c, err := NewCluster(ctx, []string{node.Addr()}, Opts{Logger: NoopLogger{}, WeightProvider: weights})
	require.NoError(t, err)
	assert.Equal(t, "OK", redis.Sync{S: c}.Do("GET", "key"))
	c.Close()
	<-c.refresher.done
}

// The topology is updated even if a ZoneOf and a WeightProvider never return.
func TestTopologyWhileTheZoneIsAsked(t *testing.T) {
	node := newScriptedNode(t, chaos.ScriptedReplies("+OK\r\n"))
	weights := &stuck{blocked: make(chan struct{}, 1), over: make(chan struct{})}
	t.Cleanup(func() { close(weights.over) })
	weights.blocks.Store(true)
	c, err := NewCluster(context.Background(), []string{node.Addr()}, Opts{
		Logger: NoopLogger{}, Zone: "here", WeightProvider: weights,
		ZoneOf: func(string) string { <-weights.over; return "here" },
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	assert.Equal(t, "OK", redis.Sync{S: c}.Do("GET", "key"))
	refreshes := c.refreshes.Load()
	c.ForceReloading()
	await(t, "two more topologies", func() bool { c.ForceReloading(); return c.refreshes.Load() > refreshes+1 })
}

// A future that panics while its request is refused is reported, and does not affect other futures.
func TestRefusedFuturesMayPanic(t *testing.T) {
	node := newScriptedNode(t, chaos.ScriptedReplies("+OK\r\n"))
	rec := newRecorder()
	c, _ := connect(t, []string{node.Addr()}, Opts{Logger: rec})
	resolved := 0
	rude := redis.FuncFuture(func(any, uint64) { resolved++; panic("rude") })
	bad := redis.Req("GET", struct{}{})
	c.Send(bad, rude, 0)
	c.SendMany([]redis.Request{bad, redis.Req("GET", "a"), bad}, rude, 0)
	c.SendTransaction([]redis.Request{bad}, rude, 0)
	c.SendTransaction(nil, rude, 0)
	c.Close()
	c.SendMany([]redis.Request{redis.Req("GET", "a"), redis.Req("GET", "b")}, rude, 0)
	assert.Equal(t, 1+3+1+1+2, resolved)
	assert.True(t, rec.seen(func(e LogEvent) bool { _, ok := e.(LogFuturePanic); return ok }))
	c.WithPolicy(MasterOnly).Send(bad, rude, 0)
	assert.Equal(t, 9, resolved)
}

// The refresher also calls a user's seed.
func TestSeedMayPanic(t *testing.T) {
	node := newScriptedNode(t, chaos.ScriptedReplies("+OK\r\n"))
	rec := newRecorder()
	c, _ := connect(t, []string{node.Addr()}, Opts{Logger: rec, ConnHostPolicy: ConnHostRoundRobin, RoundRobinSeed: rudeSeed{}})
	c.ForceReloading()
	await(t, "report", func() bool {
		return rec.seen(func(e LogEvent) bool { _, ok := e.(LogFuturePanic); return ok })
	})
	require.Equal(t, "OK", redis.Sync{S: c}.Do("TIME"), "a request that asks the seed is sent")
}

type rudeSeed struct{}

func (rudeSeed) Current() uint32 { panic("rude") }

// curious is a logger that calls the cluster for each event.
type curious struct {
	NoopLogger
	results chan any
}

func (l curious) Report(c *Cluster, _ LogEvent) {
	c.EachShard(func(redis.Sender, error) bool { return true })
	c.Scanner(redis.ScanOpts{}).Next(redis.FuncFuture(func(any, uint64) {}))
	c.ForceReloading()
	future := redis.FuncFuture(func(res any, _ uint64) {
		select {
		case l.results <- res:
		default:
		}
	})
	c.Send(redis.Req("TIME"), future, 0)
	c.SendMany([]redis.Request{redis.Req("GET", "a"), redis.Req("GET", "b")}, future, 0)
	c.SendTransaction([]redis.Request{redis.Req("GET", "a")}, future, 0)
}

// TestLoggerMayCallTheClusterAtOnce: an address that can't be used is reported
// before any topology is known.
func TestLoggerMayCallTheClusterAtOnce(t *testing.T) {
	logger := curious{results: make(chan any, 1)}
	_, err := NewCluster(context.Background(), []string{"nonsense"}, Opts{Logger: logger})
	isType(t, ErrAddressHostname, err)
	select {
	case res := <-logger.results:
		require.True(t, redis.AsErrorx(res).HasTrait(redis.ErrTraitNotSent), "%v", res)
	case <-time.After(patience):
		t.Fatal("a request of a cluster that never began was not resolved")
	}

	node := newScriptedNode(t, chaos.ScriptedReplies("+OK\r\n"))
	connect(t, []string{"nonsense", node.Addr()}, Opts{Logger: curious{results: make(chan any, 1)}})
}

func TestSlogLogger(t *testing.T) {
	tb := sharedCluster(t)
	c, _ := connect(t, tb.Addrs(), calm)
	var conn *redisconn.Connection
	for _, n := range c.topology.Load().Nodes {
		conn = n.Links[0].Conn
	}
	require.NotNil(t, conn)
	var out bytes.Buffer
	logger := NewSlogLogger(slog.New(slog.NewTextHandler(&out, nil)))
	require.False(t, oplog.WantsReqStat[DefaultLogger, NoopLogger](logger))
	for _, event := range []LogEvent{
		LogOptCorrected{Option: "ConnsPerHost"},
		LogHostEvent{Conn: conn, Event: redisconn.LogConnected{}},
		LogClusterSlotsError{Conn: conn, Error: errors.New("no")},
		LogSlotRangeError{},
		LogInitialNodeSkipped{Address: "there", Error: errors.New("no")},
		LogSentinelFailed{Address: "sentinel", Error: errors.New("no")},
		LogTopologyChanged{Masters: []string{"here"}},
		LogFollowsStrangers{Masters: []string{"there"}},
		LogFuturePanic{Value: "canary"},
		LogContextClosed{},
	} {
		logger.Report(c, event)
	}
	for _, want := range []string{
		`level=WARN msg="redis option corrected" redis.cluster=` + c.Name(),
		`level=INFO msg="redis connected" redis.address=` + conn.Addr(),
		`level=WARN msg="redis node does not return the slots"`,
		`level=ERROR msg="redis cluster: no node returns the slots"`,
		`level=WARN msg="redis cluster: address skipped" redis.cluster=` + c.Name() + ` redis.address=there`,
		`level=WARN msg="redis sentinel failed" redis.cluster=` + c.Name() + ` redis.address=sentinel redis.error=no`,
		`level=INFO msg="redis topology changed"`,
		`level=ERROR msg="redis callback panicked"`,
		`level=INFO msg="redis cluster closed"`,
	} {
		assert.Contains(t, out.String(), want)
	}
	assert.NotContains(t, out.String(), "canary")
	NewSlogLogger(nil).Report(c, LogSlotRangeError{})
}

// restless is a future that ends the goroutine that calls its Cancelled.
type restless struct {
	redis.Future
	end     func()
	started atomic.Bool // from now on Cancelled calls end
}

func (f *restless) Cancelled() error {
	if f.started.Load() {
		f.end()
	}
	return nil
}

// If a future's Cancelled does not return between two attempts, the future counts as not cancelled.
func TestFutureNeedNotReturnBetweenAttempts(t *testing.T) {
	for way, end := range notReturning {
		for _, first := range []string{"TRYAGAIN not yet", fmt.Sprintf("MOVED %d 127.0.0.1:1", redisclusterutil.Slot("key"))} {
			t.Run(way+", "+first, func(t *testing.T) {
				results := make(chan any, 1)
				f := &restless{Future: redis.FuncFuture(func(res any, _ uint64) { results <- res }), end: end}
				node := newScriptedNode(t, func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
					reply := "+OK\r\n"
					if f.started.CompareAndSwap(false, true) {
						reply = "-" + first + "\r\n"
					}
					_, err := c.Write([]byte(reply))
					return err
				})
				c, _ := connect(t, []string{node.Addr()}, Opts{Logger: NoopLogger{}})
				c.Send(redis.Req("GET", "key"), f, 0)
				select {
				case res := <-results:
					require.Equal(t, "OK", res)
				case <-time.After(patience):
					t.Fatal("not resolved")
				}
				require.Zero(t, c.accepted.Load())
			})
		}
	}
}

// If a future's Resolve, called between two attempts, does not return, nothing else is affected.
func TestResolvedFutureNeedNotReturnBetweenAttempts(t *testing.T) {
	for way, end := range notReturning {
		t.Run(way, func(t *testing.T) {
			node := newScriptedNode(t, chaos.ScriptedReplies("-TRYAGAIN not yet\r\n"))
			c, _ := connect(t, []string{node.Addr()}, Opts{Logger: NoopLogger{}})
			resolved := make(chan struct{})
			f := &gone{resolved: resolved, end: end}
			c.Send(redis.Req("GET", "key"), f, 0)
			f.left.Store(true)
			<-resolved
			require.Zero(t, c.accepted.Load())
		})
	}
}

// gone is a future that may be cancelled, and whose Resolve does not return.
type gone struct {
	resolved chan struct{}
	end      func()
	left     atomic.Bool
}

func (f *gone) Cancelled() error {
	if f.left.Load() {
		return context.Canceled
	}
	return nil
}

func (f *gone) Resolve(any, uint64) {
	close(f.resolved)
	f.end()
}

// If the Resolve of a scan's future, called after a refresh, does not return, nothing else is affected.
func TestFutureOfScanNeedNotReturnAfterRefresh(t *testing.T) {
	for way, end := range notReturning {
		t.Run(way, func(t *testing.T) {
			node := newScriptedNode(t, chaos.ScriptedReplies("*2\r\n$1\r\n0\r\n*0\r\n"))
			c, _ := connect(t, []string{node.Addr()}, Opts{Logger: NoopLogger{}, CheckInterval: time.Minute})
			s := c.Scanner(redis.ScanOpts{})
			host, port, err := net.SplitHostPort(node.Addr())
			require.NoError(t, err)
			half := fmt.Sprintf("*1\r\n*3\r\n:0\r\n:8000\r\n*2\r\n%s:%s\r\n", chaos.ScriptedBulk(host), port)
			node.slots.Store(&half)
			c.ForceReloading()
			await(t, "slots without a master", func() bool { return c.topology.Load().Shard(9000) == nil })
			keys := make(chan any, 1)
			s.Next(redis.FuncFuture(func(res any, _ uint64) { keys <- res }))
			require.NoError(t, redis.AsError(<-keys))

			f := &gone{resolved: make(chan struct{}), end: end}
			refreshes := c.Stats().Refreshes
			s.Next(f)
			await(t, "the scan to wait", func() bool { return c.Stats().Refreshes > refreshes })
			c.Close()
			<-f.resolved
		})
	}
}
