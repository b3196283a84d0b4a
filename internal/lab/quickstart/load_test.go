package main

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// The figures are plausible: many goroutines share writes, and a single one does not.
func TestMeasure(t *testing.T) {
	ctx := testContext(t)
	db := connectForTest(t, serveForTest(t), redisconn.Opts{IOTimeout: time.Hour}) // no heartbeats during the test
	one, err := measure(ctx, db.S.(*redisconn.Connection), 1, 100*time.Millisecond)
	require.NoError(t, err)
	many, err := measure(ctx, db.S.(*redisconn.Connection), 200, 300*time.Millisecond)
	require.NoError(t, err)

	require.EqualValues(t, 1, one.perWrite)
	require.Greater(t, many.perWrite, 2.0)
	for _, f := range []figures{one, many} {
		require.Positive(t, f.perSecond)
		require.Positive(t, f.p50)
		require.GreaterOrEqual(t, f.p99, f.p50)
	}

	deleteKeys(db, 200)
	require.Equal(t, int64(0), db.Do(ctx, "DBSIZE"))
}

// A load with errors reports their number and the first one.
func TestLoadReportsErrors(t *testing.T) {
	m := miniredis.RunT(t)
	l := &load{db: connectForTest(t, m.Addr(), redisconn.Opts{IOTimeout: time.Minute})}
	m.SetError("LOADING not yet")
	l.start(testContext(t), 3)
	require.Eventually(t, func() bool { return l.latency.total() >= 3 }, 10*time.Second, time.Millisecond)
	l.stop()
	require.Equal(t, l.latency.total(), l.errors.Load())
	require.Zero(t, l.unknown.Load(), "none of them ran")
	l.fail(redis.ErrIO.New("the socket broke"))
	require.EqualValues(t, 1, l.unknown.Load())
	require.ErrorContains(t, l.err(), "LOADING not yet")
	require.True(t, redis.AsErrorx(*l.first.Load()).IsOfType(redis.ErrLoading))
}
