package rediscluster

import (
	"context"
	"io"
	"log"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// rude is a user whose functions all panic.
type rude struct{ calls atomic.Int64 }

func (r *rude) panics() {
	r.calls.Add(1)
	panic("rude")
}

func (r *rude) Report(*Cluster, LogEvent) { r.panics() }

func (r *rude) ReqStat(*Cluster, *redisconn.Connection, Request, any, int64, int64, int64) {
	r.panics()
}

func (r *rude) WantsReqStat() bool {
	r.panics()
	return false
}

func (r *rude) GetWeightByHost(string) (uint32, bool) {
	r.panics()
	return 0, false
}

func TestUserFunctionsMayPanic(t *testing.T) {
	log.SetOutput(io.Discard) // of the default logger, which is told instead
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	node := newScriptedNode(t, testbed.ScriptedReplies("+OK\r\n"))
	var logger, weights rude
	c, _ := connect(t, []string{node.Addr()}, Opts{Logger: &logger, WeightProvider: &weights, CheckInterval: minCheckInterval})
	refreshed := func() {
		asked := node.asked.Load()
		await(t, "refresh", func() bool { return node.asked.Load() > asked+1 })
	}
	refreshed()
	assert.Positive(t, weights.calls.Load())
	assert.Equal(t, "OK", redis.Sync{S: c}.Do("GET", "key"))
	node.serve("127.0.0.1:1") // a change is reported by the refresher
	c.ForceReloading()
	await(t, "new topology", func() bool { return c.topology.Load().find(node.Addr()) == nil })
	c.Close()
	<-c.refresher.done
	calls := logger.calls.Load()
	c.ended()
	assert.Greater(t, logger.calls.Load(), calls)
}

// A seed is asked in the refresher, too.
func TestSeedMayPanic(t *testing.T) {
	node := newScriptedNode(t, testbed.ScriptedReplies("+OK\r\n"))
	rec := newRecorder()
	c, _ := connect(t, []string{node.Addr()}, Opts{Logger: rec, ConnHostPolicy: ConnHostRoundRobin, RoundRobinSeed: rudeSeed{}})
	c.ForceReloading()
	await(t, "report", func() bool {
		return rec.seen(func(e LogEvent) bool { _, ok := e.(LogFuturePanic); return ok })
	})
	require.NoError(t, c.Ctx().Err())
}

type rudeSeed struct{}

func (rudeSeed) Current() uint32 { panic("rude") }

// curious calls the cluster with each event.
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

	node := newScriptedNode(t, testbed.ScriptedReplies("+OK\r\n"))
	connect(t, []string{"nonsense", node.Addr()}, Opts{Logger: curious{results: make(chan any, 1)}})
}
