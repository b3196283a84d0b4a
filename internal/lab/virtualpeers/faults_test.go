package virtualpeers

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/oracle"
	own "github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// Connections break at random, and go-redis retries what it considers safe. Each request ends once
// and with its own reply, and no write runs twice.
func TestFaults(t *testing.T) {
	for _, opts := range []redisconn.Opts{{}, {Protocol: 3}, {Integrity: true}} {
		t.Run(fmt.Sprintf("RESP%d Integrity %v", max(2, opts.Protocol), opts.Integrity), func(t *testing.T) { faults(t, opts) })
	}
}

func faults(t *testing.T, opts redisconn.Opts) {
	server, err := testbed.Start(testbed.Options{})
	require.NoError(t, err)
	defer server.Close()
	proxy, err := chaos.ListenProxy(server.Addr(), chaos.ProxyOpts{Seed: 1})
	require.NoError(t, err)
	defer proxy.Close()
	opts.IOTimeout = 10 * time.Second
	conn := connect(t, proxy.Addr(), opts)
	rdb := guest(t, conn, func(o *redis.Options) { o.ReadTimeout, o.MaxRetries = 20*time.Second, 5 })
	ctx := context.Background()
	ledger := oracle.NewLedger("guest")
	log := oracle.NewExecLog(ledger)
	require.NoError(t, rdb.Ping(ctx).Err())
	proxy.Arm(chaos.Fault{Do: chaos.Reset, On: chaos.Replies, At: chaos.AtChance(0.002), Times: -1})
	proxy.Arm(chaos.Fault{Do: chaos.Reset, On: chaos.Requests, At: chaos.AtChance(0.002), Times: -1})
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			key := fmt.Sprint("log:", i)
			for n := range 300 {
				switch n % 3 {
				case 0, 1:
					req, id := log.Issue(key)
					got, err := rdb.RPush(ctx, key, req.Args[1:]...).Result()
					resolve(ledger, got, err, id)
				case 2:
					id := ledger.IssueTagged(oracle.IsBulk)
					p := rdb.TxPipeline()
					echo := p.Echo(ctx, ledger.Tag(id))
					_, err := p.Exec(ctx)
					resolve(ledger, []byte(echo.Val()), err, id)
				}
			}
		})
	}
	all.Wait()
	report := ledger.Finish(time.Second)
	direct := own.Sync{S: connect(t, server.Addr(), redisconn.Opts{})}
	require.NoError(t, log.Verify(func(key string) (tags []string, err error) {
		return own.As[[]string](direct.Do("LRANGE", key, 0, -1))
	}))
	t.Log(report)
	require.False(t, report.Failed(), "%v", report)
	require.Positive(t, report.Outcomes(oracle.Unknown))
	require.Positive(t, conn.Stats().Disconnects)
}

func resolve(ledger *oracle.Ledger, got any, err error, id uint64) {
	if err != nil {
		got = err
	}
	ledger.Resolve(got, id)
}
