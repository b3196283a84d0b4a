package redisconn_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// requireHopeless requires that err says that the request did not run, and that it is of no use to
// send it again.
func requireHopeless(t *testing.T, err error, says string) {
	t.Helper()
	require.ErrorContains(t, err, says)
	require.Contains(t, []redis.Outcome{redis.OutcomeNotSent, redis.OutcomeRefused}, redis.OutcomeOf(err))
	require.False(t, redis.SafeToRetry(err), "%v", err)
}

// everyRequest returns the errors of one request by each way that a connection has.
func everyRequest(t *testing.T, conn *redisconn.Connection, cmd string, args ...any) (errs map[string]error) {
	t.Helper()
	s := redis.SyncCtx{S: conn}
	req := redis.Req(cmd, args...)
	_, whole := s.SendTransaction(background, []redis.Request{req})
	_, watched := redis.Watch(background, conn, []string{"a"}, func(tx *redis.Tx) error {
		tx.Queue(cmd, args...)
		return nil
	})
	return map[string]error{
		"request":     redis.Err(s.Do(background, cmd, args...)),
		"batch":       redis.Err(s.SendMany(background, []redis.Request{req, req})[1]),
		"transaction": whole,
		"watch":       watched,
		"session": redis.WithSession(background, conn, "", func(s *redis.Session) error {
			return redis.Err(s.Do(cmd, args...))
		}),
		"stream": redis.Err(conn.DoStream(background, nil, cmd, args...)),
	}
}

// A connection that is refused for good says so in every request, and that a retry can't help.
func TestRetryIsOfNoUseWhileRefused(t *testing.T) {
	t.Parallel()
	s := testbed.NewServer(t, testbed.Options{Password: canary, TLS: true})
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	for name, c := range map[string]struct {
		addr string
		opts redisconn.Opts
	}{
		"password": {s.Addr(), redisconn.Opts{Password: canary + "!"}},
		"user":     {s.Addr(), redisconn.Opts{Username: "nobody", Password: canary}},
		"database": {s.Addr(), redisconn.Opts{Password: canary, DB: 99}},
		"TLS":      {s.TLSAddr(), redisconn.Opts{Password: canary, TLSEnabled: true}},
		"web":      {web.Listener.Addr().String(), redisconn.Opts{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.opts.Logger = redisconn.NoopLogger{}
			_, err := redisconn.Connect(background, c.addr, c.opts)
			requireHopeless(t, err, "")
			c.opts.AsyncDial, c.opts.IOTimeout = true, patience
			conn := connect(t, c.addr, c.opts)
			for way, err := range everyRequest(t, conn, "SET", "a", "1") {
				require.Error(t, err, way)
				requireHopeless(t, err, "")
			}
			requireHopeless(t, redis.Err(redis.Sync{S: conn}.Do("BLPOP", "a", 1)), "")
		})
	}
}

// A replica refuses writes, whichever way they come, as long as the connection stays with it.
func TestRetryIsOfNoUseOnAReplica(t *testing.T) {
	t.Parallel()
	master, replica := testbed.NewServer(t), testbed.NewServer(t)
	host, port, err := net.SplitHostPort(master.Addr())
	require.NoError(t, err)
	require.NoError(t, redis.Err(replica.Do("REPLICAOF", host, port)))
	conn := connect(t, replica.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	eventually(t, "a replica", func() bool {
		return redis.Err(redis.Sync{S: conn}.Do("SET", "a", 1)) != nil
	})
	for way, err := range everyRequest(t, conn, "SET", "a", "1") {
		require.Error(t, err, way)
		requireHopeless(t, err, "READONLY You can't write against a read only replica")
		require.ErrorContains(t, err, "redis-sentinel://")
	}
	err = redis.Err(redis.Sync{S: conn}.Do("BLPOP", "a", 1))
	requireHopeless(t, err, "READONLY")
	text, _ := redis.AsErrorx(err).Property(redis.EKText)
	require.Equal(t, "READONLY You can't write against a read only replica.", text)
}

// So does a node of a cluster that has not the slot.
func TestRetryIsOfNoUseOnOneNode(t *testing.T) {
	t.Parallel()
	cluster := testbed.NewCluster(t)
	slot, err := cluster.Slot("a")
	require.NoError(t, err)
	other := cluster.Node((slot/(1<<14/3) + 1) % 3)
	conn := connect(t, other.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	for way, err := range everyRequest(t, conn, "SET", "a", "1") {
		require.Error(t, err, way)
		requireHopeless(t, err, "MOVED")
		require.ErrorContains(t, err, "redis-cluster://", way)
	}
}
