package redisvirtual

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/redisvirtual/internal/proto"
	"github.com/joomcode/redispipe/testbed"
)

// recorder is a hook that counts operations.
type recorder struct {
	mu    sync.Mutex
	begun int
	ended map[string]int
	at    map[string]bool
}

func (h *recorder) Before(ctx context.Context, _ redis.Operation) context.Context {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.begun++
	return ctx
}

func (h *recorder) After(_ context.Context, op redis.Operation, end redis.Completion) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended == nil {
		h.ended, h.at = map[string]int{}, map[string]bool{}
	}
	kind := [...]string{redis.OperationRequest: "", redis.OperationTransaction: "transaction of "}[op.Kind]
	h.ended[fmt.Sprint(kind, op.Requests, " ", op.Command, " ", end.Outcome)]++
	h.at[end.Address] = true
}

// saw waits until as many operations have ended as have begun, and returns them.
func (h *recorder) saw(t *testing.T) map[string]int {
	t.Helper()
	n := 0
	require.Eventually(t, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		n = 0
		for _, times := range h.ended {
			n += times
		}
		return n == h.begun
	}, 20*time.Second, time.Millisecond)
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ended
}

// Hooks are called once around each request that leaves the process, on any connection, and once
// around a whole transaction.
func TestHooks(t *testing.T) {
	conn := connect(t, server.Addr(), defaults)
	outer, inner := &recorder{}, &recorder{}
	v := over(t, redis.WithHook(redis.WithHook(conn, inner), outer))
	v.say(words("CLIENT", "SETNAME", "me") + words("SELECT", "0") + words("DEL", "hooks") + words("INCR", "hooks") + words("INCR", "hooks") +
		words("NOSUCH", "secret") + words("client", "list") + words("LPUSH", "hooks", "x"))
	v.hear(proto.OK + proto.OK + ":0\r\n:1\r\n:2\r\n")
	for range 3 {
		v.frame()
	}
	v.say(words("BLPOP", "hooks:none", "0.01") + words("MULTI") + words("INCR", "hooks") + words("INCR", "hooks") + words("EXEC"))
	v.hear("*-1\r\n" + proto.OK + proto.Queued + proto.Queued + "*2\r\n:3\r\n:4\r\n")
	v.say(words("WATCH", "hooks") + words("INCR", "hooks") + words("MULTI") + words("GET", "hooks") + words("PING") + words("EXEC"))
	v.hear(proto.OK + ":5\r\n" + proto.OK + proto.Queued + proto.Queued + "*-1\r\n")
	v.say(words("SUBSCRIBE", "hooks"))
	v.frame()
	for _, h := range []*recorder{outer, inner} {
		require.Equal(t, map[string]int{
			"1 DEL value": 1, "1 INCR value": 3, "1 NOSUCH refused": 1, "1 CLIENT LIST value": 1, "1 LPUSH refused": 1, "1 BLPOP value": 1,
			"transaction of 2 INCR value": 1, "1 WATCH value": 1, "transaction of 2  value": 1,
		}, h.saw(t))
		require.Equal(t, map[string]bool{server.Addr(): true}, h.at)
	}
}

// A hook gets requests that were lost, and the address of the server that has answered, even in a cluster.
func TestHooksOfFailures(t *testing.T) {
	proxy := proxied(t)
	conn := connect(t, proxy.Addr(), redisconn.Opts{ReconnectPause: -1})
	h := &recorder{}
	v := over(t, redis.WithHook(conn, h))
	proxy.Arm(chaos.Fault{Do: chaos.Reset, On: chaos.Replies, At: chaos.AtRequestID("visits")})
	v.say(words("INCR", "visits"))
	_, err := v.r.ReadByte()
	require.Error(t, err)
	require.Equal(t, map[string]int{"1 INCR unknown": 1}, h.saw(t))

	nodes := testbed.NewCluster(t)
	cluster, err := rediscluster.NewCluster(context.Background(), nodes.Addrs(), rediscluster.Opts{
		Logger: rediscluster.NoopLogger{}, HostOpts: redisconn.Opts{IOTimeout: time.Minute},
	})
	require.NoError(t, err)
	defer cluster.Close()
	h = &recorder{}
	v = over(t, redis.WithHook(cluster, h))
	for i := range 50 {
		v.say(words("SET", fmt.Sprint("key", i), "v"))
		v.hear(proto.OK)
	}
	v.say(words("GET", "key1") + words("GET", "key2"))
	v.hear("$1\r\nv\r\n$1\r\nv\r\n")
	require.Equal(t, map[string]int{"1 SET value": 50, "1 GET value": 2}, h.saw(t))
	require.Subset(t, append(nodes.Addrs(), ""), keys(h.at))
	require.Len(t, h.at, 4, "three masters, and those that nobody knows")
}

// A hook also gets requests that were waiting for room when the client closed its connection.
func TestHooksOfNoRoom(t *testing.T) {
	conn := connect(t, server.Addr(), redisconn.Opts{MaxRequests: 1, AsyncDial: true, Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	over(t, conn).say(words("PING"))
	h := &recorder{}
	v := over(t, redis.WithHook(conn, h))
	written := make(chan error)
	go func() {
		_, err := v.Write([]byte(words("INCR", "a") + words("INCR", "b")))
		written <- err
	}()
	require.Eventually(t, func() bool { return conn.Stats().WaitingForRoom == 1 }, 20*time.Second, time.Millisecond)
	require.NoError(t, v.Close())
	require.ErrorIs(t, <-written, net.ErrClosed)
	require.Equal(t, map[string]int{"1 INCR not sent": 2}, h.saw(t))
}

func keys(m map[string]bool) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	return all
}
