package redisdumb_test

import (
	"net"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisdumb"
	"github.com/joomcode/redispipe/testbed"
)

// Keys {a} and {b} live on different masters: slots 15495 and 3300.
func TestClusterRedirects(t *testing.T) {
	cluster := testbed.NewCluster(t, testbed.ClusterOptions{Replicas: -1})
	conn := newConn(t, cluster.Node(0).Addr())

	err := redis.AsErrorx(conn.Do("SET", "{a}", 1))
	require.NotNil(t, err, "TypeSimple follows nothing")
	require.True(t, err.IsOfType(redis.ErrMoved), "%v", err)

	conn.Type = redisdumb.TypeCluster
	s := redis.Sync{S: conn}
	assert.Equal(t, "OK", conn.Do("SET", "{a}", "at a"))
	assert.Equal(t, "OK", conn.Do("SET", "{b}", "at b"))
	assert.Equal(t, []any{[]byte("at a"), []byte("at b"), []byte("at a")},
		s.SendMany([]redis.Request{redis.Req("GET", "{a}"), redis.Req("GET", "{b}"), redis.Req("GET", "{a}")}))
	results, txErr := s.SendTransaction([]redis.Request{redis.Req("INCR", "{a}n"), redis.Req("GET", "{a}")})
	require.NoError(t, txErr)
	assert.Equal(t, []any{int64(1), []byte("at a")}, results)

	slot, slotErr := cluster.Slot("{a}")
	require.NoError(t, slotErr)
	m, mErr := cluster.BeginMigration(slot, cluster.Node(1))
	require.NoError(t, mErr)
	require.NoError(t, m.MoveAll())
	assert.Equal(t, []byte("at a"), conn.Do("GET", "{a}"), "MOVED, then ASK")
	results, txErr = s.SendTransaction([]redis.Request{redis.Req("INCR", "{a}n"), redis.Req("GET", "{a}")})
	require.NoError(t, txErr)
	assert.Equal(t, []any{int64(2), []byte("at a")}, results)
	require.NoError(t, m.Finish())
	assert.Equal(t, []byte("at a"), conn.Do("GET", "{a}"))
}

func TestRedirectInACircle(t *testing.T) {
	var hits atomic.Int32
	addr := fake(t, func(conn net.Conn, _ int) {
		hits.Add(1)
		_, port, _ := net.SplitHostPort(conn.LocalAddr().String())
		answer(conn, ping, "-MOVED 1 :"+port+"\r\n") // no host means the host that answered
	})
	conn := newConn(t, addr)
	conn.Type = redisdumb.TypeCluster
	err := redis.AsErrorx(conn.Do("PING"))
	require.NotNil(t, err)
	assert.True(t, err.IsOfType(redis.ErrMoved), "%v", err)
	assert.EqualValues(t, 6, hits.Load())
}

func TestSenselessRedirects(t *testing.T) {
	for _, reply := range []string{"-MOVED\r\n", "-MOVED 1\r\n", "-MOVED x y\r\n", "-ASK foo\r\n", "-ASK 1 foo\r\n", "-MOVED 1 \r\n"} {
		addr := fake(t, func(conn net.Conn, _ int) { answer(conn, ping, reply) })
		conn := newConn(t, addr)
		conn.Type = redisdumb.TypeCluster
		assert.Error(t, redis.AsError(conn.Do("PING")), reply)
	}
}
