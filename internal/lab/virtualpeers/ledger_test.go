package virtualpeers

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/redistest/ledger"
)

// judged is a go-redis client behind a proxy, whose pushes are recorded in a ledger.
type judged struct {
	t     *testing.T
	proxy *chaos.Proxy
	rdb   *redis.Client
	key   string
	book  *ledger.Ledger
	lists *ledger.Lists
}

var judgedRuns atomic.Int64

func newJudged(t *testing.T, retries int, patience time.Duration) judged {
	proxy := chaos.NewProxy(t, server.Addr(), chaos.ProxyOpts{Seed: 1})
	rdb := redis.NewClient(&redis.Options{
		Addr: proxy.Addr(), MaxRetries: retries, ReadTimeout: patience, PoolSize: 1,
	})
	t.Cleanup(func() { _ = rdb.Close() })
	name := fmt.Sprintf("%s#%d", t.Name(), judgedRuns.Add(1)) // unique, because requests of an earlier run may still be under way
	book := ledger.New(name)
	return judged{t, proxy, rdb, "ledger:" + name, book, ledger.NewLists(book)}
}

// push sends one request, and records the outcome that go-redis reports.
func (j judged) push() error {
	tag, id := j.lists.Issue(j.key)
	n, err := j.rdb.RPush(context.Background(), j.key, tag).Result()
	var refusal redis.Error
	switch {
	case err == nil:
		j.book.End(id, ledger.Value, n)
	case errors.As(err, &refusal):
		j.book.End(id, ledger.ServerError, err)
	default:
		j.book.End(id, ledger.Unknown, err)
	}
	return err
}

// judge heals the network, and compares the ledger with the lists on the server.
func (j judged) judge() *ledger.Report {
	j.proxy.Heal()
	require.Eventually(j.t, func() bool { return j.push() == nil }, time.Minute, time.Millisecond)
	direct := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer direct.Close()
	require.NoError(j.t, j.lists.Verify(func(key string) ([]string, error) {
		return direct.LRange(context.Background(), key, 0, -1).Result()
	}))
	return j.book.Finish(time.Minute)
}

// If its retries are turned off, go-redis reports correct outcomes under every preset.
func TestLedgerOfGoRedis(t *testing.T) {
	for name, fault := range map[string]chaos.Fault{
		"freeze": chaos.Freeze(), "cut": chaos.CutAfter(1), "half-open": chaos.HalfOpen(),
		"requests are lost": chaos.BlackHole(chaos.Requests), "replies are lost": chaos.BlackHole(chaos.Replies),
		"slow": chaos.SlowReplies(1, time.Millisecond), "reset after execution": chaos.ResetAfterExecution("RPUSH"),
		"loading": chaos.Loading(), "read only": chaos.ReadOnly(), "cluster down": chaos.ClusterDown(),
		"moved storm": chaos.MovedStorm(server.Addr()),
	} {
		t.Run(name, func(t *testing.T) {
			j := newJudged(t, -1, 20*time.Millisecond)
			require.Eventually(t, func() bool { return j.push() == nil }, time.Minute, time.Millisecond)
			j.proxy.Arm(fault)
			for range 2 {
				_ = j.push()
			}
			report := j.judge()
			require.False(t, report.Failed(), report)
		})
	}
}

// By default go-redis retries three times, so it runs a request twice if the reply was lost.
func TestLedgerFindsRepeats(t *testing.T) {
	j := newJudged(t, 0, time.Minute)
	require.Eventually(t, func() bool { return j.push() == nil }, time.Minute, time.Millisecond)
	fault := j.proxy.Arm(chaos.ResetAfterExecution("RPUSH"))
	_ = j.push()
	require.Equal(t, 1, fault.Fired())
	report := j.judge()
	require.EqualValues(t, 1, report.Count(ledger.Duplicated), report)
}
