package torture

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/testbed"
)

// notebook is a log that tests read.
type notebook struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

// Write implements io.Writer.
func (n *notebook) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

// Text returns what was written.
func (n *notebook) Text() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

// readAs reads a value into a type that the value does not fit.
func readAs[T any](o overheard, sync redis.SyncCtx, reqs ...redis.Request) {
	ctx := context.Background()
	for _, req := range reqs {
		res := sync.Send(ctx, req)
		_, err := redis.As[T](res)
		o.hear(err)
		var v T
		o.hear(sync.DoInto(ctx, &v, req.Cmd, req.Args...))
		o.hear(redis.Collect([]redis.Request{req}, []any{res}, &v))
	}
}

// T21: functions that read results, sessions, scripts, hooks and statistics show no value either.
func TestT21Readers(t *testing.T) {
	o := overheard{t}
	notes := &notebook{}
	server := testbed.NewServer(t, testbed.Options{Password: canaryPassword})
	opts := fast()
	opts.Password, opts.Logger = canaryPassword, redisconn.NewSlogLogger(slog.New(slog.NewJSONHandler(notes, &slog.HandlerOptions{Level: slog.LevelDebug})))
	conn, err := redisconn.Connect(t.Context(), server.Addr(), opts)
	require.NoError(t, err)
	defer conn.Close()
	sync := redis.SyncCtx{S: redis.WithHook(conn, redis.NewSlowLog(slog.New(slog.NewTextHandler(notes, nil)), time.Nanosecond))}
	ctx := t.Context()
	for _, req := range []redis.Request{
		redis.Req("SET", "string", canaryValue),
		redis.Req("RPUSH", "list", canaryValue, canaryValue, canaryValue),
		redis.Req("HSET", "hash", canaryValue, canaryValue, "n", canaryValue),
		redis.Req("ZADD", "zset", 1, canaryValue, 2, "2"),
		redis.Req("XADD", "stream", "*", canaryValue, canaryValue),
	} {
		require.NoError(t, redis.AsError(sync.Send(ctx, req)))
	}
	reqs := []redis.Request{
		redis.Req("GET", "string"), redis.Req("LRANGE", "list", 0, -1), redis.Req("HGETALL", "hash"), redis.Req("HMGET", "hash", "n", "x"),
		redis.Req("ZRANGE", "zset", 0, -1, "WITHSCORES"), redis.Req("XRANGE", "stream", "-", "+"), redis.Req("SCAN", 0),
		redis.Req("LPUSH", "string", canaryValue), redis.Req("GET", "missing"), redis.Req("INCR", "string"),
	}
	readAs[int](o, sync, reqs...)
	readAs[uint8](o, sync, reqs...)
	readAs[float64](o, sync, reqs...)
	readAs[bool](o, sync, reqs...)
	readAs[string](o, sync, reqs...)
	readAs[[]int](o, sync, reqs...)
	readAs[[3]int](o, sync, reqs...)
	readAs[map[string]int](o, sync, reqs...)
	readAs[map[int]string](o, sync, reqs...)
	readAs[time.Duration](o, sync, reqs...)
	readAs[time.Time](o, sync, reqs...) // time.Time unmarshals itself
	readAs[big.Int](o, sync, reqs...)
	readAs[[]redis.Scored[int]](o, sync, reqs...)
	readAs[[]redis.Entry[int]](o, sync, reqs...)
	readAs[struct {
		N int `redis:"n"`
	}](o, sync, reqs...)

	o.hear(redis.WithSession(ctx, conn, "string", func(s *redis.Session) error {
		o.hear(s.Do("LPUSH", "string", canaryValue))
		o.hear(s.Do("AUTH", canaryValue))
		o.check(fmt.Sprintf("%v %+v", s, s))
		return redis.AsError(s.Do("HELLO", 3, "AUTH", canaryValue, canaryValue))
	}))
	script := redis.NewScript("return redis.call('SET', KEYS[1], ARGV[1], ARGV[2], 'x')")
	o.hear(script.Do(ctx, sync.S, []string{canaryValue}, canaryValue, canaryValue))
	o.hear(sync.Do(ctx, "BLPOP", "string", canaryValue))
	o.hear(conn.DoStream(ctx, nil, "SET", "string", redis.Stream{R: strings.NewReader(canaryValue), Size: 100}))
	o.hear(conn.DoStream(ctx, io.Discard, "LRANGE", "string", canaryValue, canaryValue))

	conn.Send(redis.Req("GET", "string"), nil, 0)
	require.NoError(t, conn.Ping())
	stats := conn.Stats()
	o.check(fmt.Sprintf("%v %+v %v %+v %v %#v %s %q %x", stats, stats, opts, opts, conn, conn, conn, opts, conn))
	cluster := rediscluster.Opts{HostOpts: opts, SentinelOpts: opts}
	o.check(fmt.Sprintf("%v %+v %#v", cluster, cluster, cluster))
	slog.New(slog.NewJSONHandler(notes, nil)).Info("options", "opts", opts, "cluster", cluster, "conn", conn, "creds", redisconn.Credentials{Password: canaryPassword})
	o.check(notes.Text())
	require.NotEmpty(t, notes.Text())
}

// T21: a subscriber shows neither payloads of messages nor passwords.
func TestT21Subscriber(t *testing.T) {
	o := overheard{t}
	notes := &notebook{}
	server := testbed.NewServer(t, testbed.Options{Password: canaryPassword, ACL: []string{"limited on >" + canaryPassword + " ~* +@all resetchannels &allowed"}})
	opts := fast()
	opts.Username, opts.Password, opts.Logger = "limited", canaryPassword, redisconn.NoopLogger{}
	conn, err := redisconn.Connect(t.Context(), server.Addr(), opts)
	require.NoError(t, err)
	defer conn.Close()
	s, err := redispubsub.New(conn, redispubsub.Opts{
		Logger: redispubsub.NewSlogLogger(slog.New(slog.NewTextHandler(notes, &slog.HandlerOptions{Level: slog.LevelDebug}))),
	})
	require.NoError(t, err)
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	sub := s.NewSubscription(redispubsub.SubscriptionOpts{MaxMessages: 1})
	require.NoError(t, sub.Subscribe(ctx, redispubsub.Channel("allowed")))
	for range 3 {
		require.NoError(t, redis.AsError(server.Do("PUBLISH", "allowed", canaryValue)))
	}
	require.Eventually(t, func() bool { return s.Stats().Dropped == 2 }, patience, time.Millisecond)
	require.NoError(t, redis.AsError(server.Do("CLIENT", "KILL", "TYPE", "pubsub")))
	require.Eventually(t, func() bool { return s.Stats().ConnectionLost > 0 && s.Stats().OpenGaps == 0 }, patience, time.Millisecond)
	o.hear(sub.Subscribe(ctx, redispubsub.Channel("forbidden")))
	o.check(fmt.Sprintf("%v %+v", s.Stats(), s.Stats()))
	o.check(notes.Text())
	require.NotEmpty(t, notes.Text())
}
