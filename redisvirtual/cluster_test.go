package redisvirtual

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisvirtual/internal/proto"
	"github.com/joomcode/redispipe/redisvirtual/internal/upstream"
	"github.com/joomcode/redispipe/testbed"
)

// Over a cluster, requests go to the node of their keys, or to the node that was dialed.
func TestCluster(t *testing.T) {
	drill.Rotate(t)
	nodes := testbed.NewCluster(t)
	ctx := context.Background()
	cluster, err := rediscluster.NewCluster(ctx, nodes.Addrs(), rediscluster.Opts{
		Logger: rediscluster.NoopLogger{}, HostOpts: redisconn.Opts{IOTimeout: time.Minute},
	})
	require.NoError(t, err)
	defer cluster.Close()

	v := over(t, cluster)
	for i := range 50 {
		v.say(words("SET", fmt.Sprint("key", i), "v"))
		v.hear(proto.OK)
	}
	v.say(words("MGET", "a", "b"))
	v.hear("-CROSSSLOT Keys in request don't hash to the same slot\r\n")
	v.say(words("MULTI") + words("INCR", "{t}a") + words("INCR", "{t}b") + words("EXEC"))
	v.hear(proto.OK + proto.Queued + proto.Queued + "*2\r\n:1\r\n:1\r\n")
	v.say(words("WATCH", "{t}a") + words("SET", "{t}a", "7") + words("MULTI") + words("INCR", "{t}a") + words("EXEC") + words("GET", "{t}a"))
	v.hear(proto.OK + proto.OK + proto.OK + proto.Queued + "*-1\r\n$1\r\n7\r\n")
	v.say(words("BLPOP", "none", "0.01"))
	v.hear("*-1\r\n")

	dial := Dialer(cluster)
	for _, addr := range nodes.Addrs() {
		conn, err := dial(ctx, "tcp", addr)
		require.NoError(t, err)
		require.IsType(t, &virtualConn{}, conn)
		n := clientOf(t, conn)
		n.say(words("GET", "key1"))
		reply := n.frame()
		require.True(t, reply == "$1\r\nv\r\n" || reply[:7] == "-MOVED ", reply)
	}
	conn, err := dial(ctx, "tcp", server.Addr())
	require.NoError(t, err)
	_ = conn.Close()
	require.NotEqual(t, fmt.Sprintf("%T", &virtualConn{}), fmt.Sprintf("%T", conn))
}

// If the nodes use TLS, the library dials nothing without TLS.
func TestClusterWithTLS(t *testing.T) {
	drill.Rotate(t)
	testbed.Needs(t, testbed.TLS)
	nodes := testbed.NewCluster(t, testbed.ClusterOptions{Replicas: -1, Options: testbed.Options{TLS: true}})
	config, err := nodes.Node(0).ClientTLS()
	require.NoError(t, err)
	ctx := context.Background()
	cluster, err := rediscluster.NewCluster(ctx, nodes.TLSAddrs(), rediscluster.Opts{
		Logger: rediscluster.NoopLogger{}, HostOpts: redisconn.Opts{IOTimeout: time.Minute}, TLSEnabled: true, TLSConfig: config,
	})
	require.NoError(t, err)
	defer cluster.Close()
	dial := Dialer(cluster)
	for _, addr := range nodes.TLSAddrs() {
		conn, err := dial(ctx, "tcp", addr)
		require.NoError(t, err)
		clientOf(t, conn)
	}
	for _, addr := range nodes.Addrs() {
		_, err := dial(ctx, "tcp", addr)
		require.ErrorContains(t, err, addr)
		require.True(t, redis.ErrOpts.IsNamespaceOf(redis.AsErrorx(err).Type()))
		require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(err))
	}
}

// Unless a client has sent READONLY, a replica redirects its reads to the master.
func TestReplica(t *testing.T) {
	drill.Rotate(t)
	nodes := testbed.NewCluster(t)
	ctx := context.Background()
	cluster, err := rediscluster.NewCluster(ctx, nodes.Addrs(), rediscluster.Opts{
		Logger: rediscluster.NoopLogger{}, HostOpts: redisconn.Opts{IOTimeout: time.Minute},
	})
	require.NoError(t, err)
	defer cluster.Close()
	_, replicas, _ := backend.NodesOf(cluster).All()
	require.NotEmpty(t, replicas)
	virtual := func() *client {
		conn, err := Dialer(cluster)(ctx, "tcp", replicas[0].Addr())
		require.NoError(t, err)
		return clientOf(t, conn)
	}

	reads := virtual()
	reads.say(words("READONLY"))
	reads.hear(proto.OK)
	key := ""
	for i := 0; key == ""; i++ { // until a key belongs to the replica's master
		reads.say(words("GET", fmt.Sprint("none", i)))
		if reply := reads.frame(); reply == "$-1\r\n" {
			key = fmt.Sprint("none", i)
		}
	}
	require.Nil(t, reads.Conn.(*virtualConn).own)
	reads.say(words("MULTI") + words("GET", key) + words("EXEC") + words("READWRITE") + words("PING") + words("GET", key))
	reads.hear(proto.OK + proto.Queued + "*1\r\n$-1\r\n" + proto.OK + "+PONG\r\n")
	require.True(t, strings.HasPrefix(reads.frame(), "-MOVED "))

	for _, say := range []string{words("GET", key), words("WATCH", key), words("XREAD", "BLOCK", "1", "STREAMS", key, "0"), words("PING") + words("MULTI") + words("GET", key)} {
		v := virtual()
		v.say(say)
		reply := v.frame()
		for reply == "+PONG\r\n" || reply == proto.OK {
			reply = v.frame()
		}
		require.True(t, strings.HasPrefix(reply, "-MOVED "), "%s: %s", say, reply)
		v.say(words("DISCARD") + words("READONLY") + words("GET", key))
		v.frame()
		v.hear(proto.OK + "$-1\r\n")
	}
}

// A client that speaks RESP2 gets an error if the shared connections to several servers speak RESP3,
// because a separate socket would lead to only one master. A connection to one node, and requests
// that need a separate socket anyway, work as with a single server.
func TestClusterProtocol(t *testing.T) {
	drill.Rotate(t)
	nodes := testbed.NewCluster(t)
	ctx := context.Background()
	cluster, err := rediscluster.NewCluster(ctx, nodes.Addrs(), rediscluster.Opts{
		Logger: rediscluster.NoopLogger{}, HostOpts: redisconn.Opts{IOTimeout: time.Minute, Protocol: 3},
	})
	require.NoError(t, err)
	defer cluster.Close()

	for _, say := range []string{
		words("GET", "key1"), words("MULTI"), words("HELLO", "2"), words("WATCH", "key1"), words("BLPOP", "key1", "1"),
		words("CLIENT", "SETNAME", "me") + words("GET", "key1"),
	} {
		v := over(t, cluster)
		v.say(say)
		read, err := io.ReadAll(v.r)
		require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(err), "%s: %v", say, err)
		require.True(t, redis.ErrOpts.IsNamespaceOf(redis.AsErrorx(err).Type()))
		require.ErrorContains(t, err, "HELLO 3")
		require.False(t, redis.SafeToRetry(err))
		require.NotContains(t, string(read), "MOVED")
		require.Nil(t, v.Conn.(*virtualConn).own)
	}

	v := over(t, cluster)
	v.say(words("HELLO", "3"))
	v.frame()
	for i := range 50 {
		v.say(words("SET", fmt.Sprint("key", i), "v"))
		v.hear(proto.OK)
	}
	v.say(words("WATCH", "key1") + words("HELLO", "2") + words("GET", "key1") + words("MULTI") + words("GET", "key1") + words("EXEC"))
	v.hear(proto.OK + "-ERR HELLO can't follow WATCH on a virtual connection\r\n$1\r\nv\r\n" +
		proto.OK + proto.Queued + "*1\r\n$1\r\nv\r\n")
	v.say(words("INCR", "count") + words("RESET") + words("GET", "key1"))
	v.hear(":1\r\n+RESET\r\n")
	_, err = v.r.ReadByte()
	require.ErrorContains(t, err, "HELLO 3")

	v = over(t, cluster)
	v.say(words("SUBSCRIBE", "news"))
	v.hear("*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n")
	conn, err := Dialer(cluster)(ctx, "tcp", nodes.Addrs()[0])
	require.NoError(t, err)
	v = clientOf(t, conn)
	v.say(words("HGETALL", "none{key1}"))
	reply := v.frame()
	require.True(t, reply == "*0\r\n" || strings.HasPrefix(reply, "-MOVED "), reply)
}

// decorated is a user's decorator.
type decorated struct{ *redisconn.Connection }

// A sender that wraps another is refused, because virtual connections would bypass it.
func TestSenders(t *testing.T) {
	conn := connect(t, server.Addr(), defaults)
	_, err := Conn(decorated{conn}).Write([]byte(words("PING")))
	require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(err))
	require.True(t, redis.ErrOpts.IsNamespaceOf(redis.AsErrorx(err).Type()))
	_, err = Dialer(decorated{conn})(context.Background(), "tcp", "")
	require.Error(t, err)
	_, err = Dialer(redis.WithJoin(conn))(context.Background(), "tcp", "")
	require.ErrorContains(t, err, "a sender of redis.WithJoin is not a connection, cluster or Client: pass the one inside it")
	ended, end := context.WithCancel(context.Background())
	end()
	_, err = Dialer(conn)(ended, "tcp", "")
	require.ErrorIs(t, err, context.Canceled)
	v := over(t, redis.WithHook(conn, redis.NewSlowLog(nil, time.Hour)))
	v.say(words("PING"))
	v.hear("+PONG\r\n")
}

// A nil sender of any type is an error, because a program may have ignored the error of Connect.
func TestNilSender(t *testing.T) {
	hook := redis.NewSlowLog(nil, 0)
	for name, s := range map[string]redis.Sender{
		"nil": nil, "connection": (*redisconn.Connection)(nil), "cluster": (*rediscluster.Cluster)(nil), "client": (*redispipe.Client)(nil),
		"policy": rediscluster.PolicyMan{}, "prefix": redis.WithPrefix((*redisconn.Connection)(nil), "t1:"), "hooked": redis.WithHook((*redisconn.Connection)(nil), hook), "hooked nil": redis.WithHook(nil, hook),
	} {
		_, err := Dialer(s)(context.Background(), "tcp", "")
		require.True(t, redis.ErrOpts.IsNamespaceOf(redis.AsErrorx(err).Type()), name)
		_, err = Conn(s).Write([]byte(words("PING")))
		require.True(t, redis.ErrOpts.IsNamespaceOf(redis.AsErrorx(err).Type()), name)
	}
}

// ASKING applies to the next request, no matter how that is answered, or to the transaction that it
// begins.
func TestAskingEnds(t *testing.T) {
	conn := connect(t, testbed.NewCluster(t, testbed.ClusterOptions{Replicas: -1}).Addrs()[0], defaults)
	for _, c := range []struct {
		then   string
		asking bool
	}{
		{words("CLIENT", "SETNAME", "a"), false}, {words("READONLY"), false}, {words("SELECT", "0"), false}, {words("UNWATCH"), false},
		{words("HELLO", "2"), false}, {words("PING"), false}, {words("ASKING"), true}, {words("MULTI"), true},
		{words("MULTI") + words("DISCARD"), false}, {words("MULTI") + words("PING") + words("EXEC"), false},
	} {
		v := newConn(mustOf(t, conn))
		_, _, err := v.take([]byte(words("ASKING") + c.then))
		require.NoError(t, err)
		require.Equal(t, c.asking, v.asking, c.then)
	}
}

// ASKING before WATCH applies to the watched keys, on the connection that WATCH uses.
func TestAskingWatches(t *testing.T) {
	cluster := testbed.NewCluster(t, testbed.ClusterOptions{Replicas: -1})
	slot, err := cluster.Slot("key")
	require.NoError(t, err)
	owner, err := cluster.Owner(slot)
	require.NoError(t, err)
	to := cluster.Node(0)
	if to == owner {
		to = cluster.Node(1)
	}
	move, err := cluster.BeginMigration(slot, to)
	require.NoError(t, err)
	t.Cleanup(func() { _ = move.Abort() })
	v := over(t, connect(t, to.Addr(), defaults))
	v.say(words("ASKING") + words("WATCH", "key"))
	v.hear(proto.OK + proto.OK)
	v.say(words("UNWATCH") + words("WATCH", "key"))
	v.hear(proto.OK)
	require.Contains(t, v.frame(), "-MOVED ")
}

func mustOf(t testing.TB, s redis.Sender) *upstream.Servers {
	to, err := upstream.Of(s)
	require.NoError(t, err)
	return to
}
