package redispipe_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisdumb"
	"github.com/joomcode/redispipe/testbed"
)

// These tests use the library from outside, as existing services do, by the names that the services
// know. The tested behaviour must not change.

// Users write redis.SyncCtx{sender} without field names, so each of these types must keep one
// field, and Request two.
var (
	_ = redis.Sync(struct{ S redis.Sender }{})
	_ = redis.SyncCtx(struct{ S redis.Sender }{})
	_ = redis.ChanFutured(struct{ S redis.Sender }{})
	_ = redis.Request(struct {
		Cmd  string
		Args []any
	}{})
	_ redis.Sender     = userSender{}
	_ redis.Future     = &userFuture{}
	_ redisconn.Logger = &userLogger{}
)

func requireErr(t *testing.T, res any, typ *errorx.Type) *errorx.Error {
	t.Helper()
	err := redis.AsErrorx(res)
	require.NotNil(t, err, "%v", res)
	require.True(t, err.IsOfType(typ), "%v is not of %v", err, typ)
	return err
}

func connectTo(t *testing.T, addr string, opts redisconn.Opts) redis.Sync {
	t.Helper()
	if opts.Logger == nil {
		opts.Logger = redisconn.NoopLogger{}
	}
	if opts.IOTimeout == 0 {
		opts.IOTimeout = time.Minute
	}
	conn, err := redisconn.Connect(t.Context(), addr, opts)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return redis.Sync{S: conn}
}

func TestCompatForbidden(t *testing.T) {
	server := testbed.NewServer(t)
	shared, single := connectTo(t, server.Addr(), redisconn.Opts{DedicatedConns: -1}), connectTo(t, server.Addr(), redisconn.Opts{ScriptMode: true})
	for _, cmd := range strings.Split("BLPOP BRPOP BRPOPLPUSH BLMOVE BLMPOP BZPOPMIN BZPOPMAX BZMPOP WAIT WAITAOF SAVE WATCH SUBSCRIBE PSUBSCRIBE SSUBSCRIBE MONITOR "+
		"SYNC PSYNC RESET QUIT CLIENT/REPLY MULTI EXEC DISCARD SELECT AUTH HELLO READONLY READWRITE ASKING CLIENT/TRACKING CLIENT/NO-EVICT", " ") {
		cmd = strings.Replace(cmd, "/", " ", 1)
		for _, name := range []string{cmd, strings.ToLower(cmd)} {
			err := requireErr(t, shared.Do(name, "1", "1", "1"), redis.ErrCommandForbidden)
			assert.True(t, err.HasTrait(redis.ErrTraitNotSent))
			requireErr(t, shared.SendMany([]redis.Request{redis.Req(name, "1")})[0], redis.ErrCommandForbidden)
			assert.Error(t, redis.ForbiddenCommand(name, false))
		}
	}
	requireErr(t, shared.Do("xread", "BLOCK", 0, "STREAMS", "s", "0"), redis.ErrCommandForbidden)
	assert.Nil(t, shared.Do("XREAD", "STREAMS", "s", "0"))
	requireErr(t, single.Do("SUBSCRIBE", "c"), redis.ErrCommandForbidden)
	require.Equal(t, int64(1), shared.Do("RPUSH", "list", "x"))
	assert.Equal(t, []any{[]byte("list"), []byte("x")}, single.Do("BLPOP", "list", 1))
	assert.Equal(t, "OK", single.Do("WATCH", "n"))
	require.Equal(t, int64(1), shared.Do("INCR", "n"))
	_, err := single.SendTransaction([]redis.Request{redis.Req("INCR", "n")})
	requireErr(t, err, redis.ErrExecEmpty)
}

// userFuture is a future that embeds a counter and counts with it.
type userFuture struct {
	sync.WaitGroup
	res [16]any
}

func (f *userFuture) Resolve(res any, n uint64) { f.res[n] = res; f.Done() }
func (f *userFuture) Cancelled() error          { return nil }

func TestCompatSending(t *testing.T) {
	s := connectTo(t, testbed.NewServer(t).Addr(), redisconn.Opts{})
	f := &userFuture{}
	f.Add(3)
	s.S.SendMany([]redis.Request{redis.Req("PING"), redis.Req("INCR", "n")}, f, 5)
	s.S.SendTransaction([]redis.Request{redis.Req("INCR", "n"), redis.Req("ECHO", nil)}, f, 9)
	f.Wait()
	assert.Equal(t, []any{"PONG", int64(1), []any{int64(2), []byte{}}}, []any{f.res[5], f.res[6], f.res[9]})

	results := s.SendMany([]redis.Request{redis.Req("INCR", "n"), redis.Req("SET", "n", struct{}{}), redis.Req("INCR", "n")})
	requireErr(t, results[0], redis.ErrBatchFormat)
	requireErr(t, results[1], redis.ErrArgumentType)
	assert.True(t, requireErr(t, results[2], redis.ErrBatchFormat).HasTrait(redis.ErrTraitNotSent))
	_, err := s.SendTransaction([]redis.Request{redis.Req("INCR", "n"), redis.Req("NOSUCH")})
	requireErr(t, err, redis.ErrExecAbort)

	for _, cb := range []redis.Future{nil, redis.FuncFuture(func(any, uint64) { panic("a user's") })} {
		s.S.Send(redis.Req("INCR", "n"), cb, 0)
		s.S.SendMany([]redis.Request{redis.Req("INCR", "n")}, cb, 0)
		s.S.SendTransaction([]redis.Request{redis.Req("INCR", "n")}, cb, 0)
		s.S.Send(redis.Req("SET", "n", struct{}{}), cb, 0)
	}
	assert.Equal(t, []byte("8"), s.Do("GET", "n"))
	assert.Equal(t, "PONG", redis.ChanFutured(s).SendMany([]redis.Request{redis.Req("PING")})[0].Value())
	assert.Empty(t, s.SendMany(nil))

	failure := requireErr(t, s.Do("LPUSH", "n", 1), redis.ErrResult)
	assert.True(t, strings.HasPrefix(failure.Message(), "WRONGTYPE"))
	req, _ := failure.Property(redis.EKRequest)
	assert.Equal(t, redis.Req("LPUSH", "n", 1), req)
}

// userLogger embeds a logger, and overrides only the methods that it needs.
type userLogger struct {
	redisconn.NoopLogger
	mu     sync.Mutex
	events strings.Builder
	stats  atomic.Int64
}

func (l *userLogger) Report(conn *redisconn.Connection, event redisconn.LogEvent) {
	name, err := "?", error(nil)
	switch e := event.(type) {
	case redisconn.LogConnecting:
		name = "connecting"
	case redisconn.LogConnected:
		name = "connected"
	case redisconn.LogConnectFailed:
		name, err = "failed", e.Error
	case redisconn.LogDisconnected:
		name, err = "disconnected", e.Error
	case redisconn.LogContextClosed:
		name, err = "closed", e.Error
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(&l.events, "%s %v %+v %+v %#v;", name, conn, err, event, conn)
}

func (l *userLogger) ReqStat(_ *redisconn.Connection, _ redis.Request, _ any, nanos, in, out int64) {
	l.stats.Add(min(nanos, in, out))
}

func (l *userLogger) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.events.String()
}

func TestCompatConnect(t *testing.T) {
	_, err := redisconn.Connect(nil, "127.0.0.1:1", redisconn.Opts{}) //nolint:staticcheck // that is the question
	requireErr(t, err, redis.ErrContextIsNil)
	_, err = redisconn.Connect(t.Context(), "", redisconn.Opts{})
	requireErr(t, err, redis.ErrNoAddressProvided)
	quiet := redisconn.NoopLogger{}
	_, err = redisconn.Connect(t.Context(), "127.0.0.1:1", redisconn.Opts{ReconnectPause: -1, Logger: quiet})
	assert.False(t, requireErr(t, err, redisconn.ErrDial).HasTrait(redisconn.ErrTraitInitPermanent))
	down := connectTo(t, "127.0.0.1:1", redisconn.Opts{ReconnectPause: time.Hour})
	assert.True(t, redis.AsErrorx(down.Do("PING")).HasTrait(redis.ErrTraitNotSent))
	async := connectTo(t, "127.0.0.1:1", redisconn.Opts{AsyncDial: true})
	async.S.Close()
	requireErr(t, async.Do("PING"), redis.ErrContextClosed)

	testbed.Needs(t, testbed.TLS)
	ca, err := testbed.NewCA()
	require.NoError(t, err)
	server := testbed.NewServer(t, testbed.Options{TLS: true, CA: ca, ClientCerts: true, Unix: true, ACL: []string{"alice on >secret ~* +@all"}})
	for _, addr := range []string{server.Addr(), "tcp://" + server.Addr(), server.UnixPath(), "unix://" + server.UnixPath()} {
		s := connectTo(t, addr, redisconn.Opts{Username: "alice", Password: "secret", DB: 2, Handle: addr})
		assert.Equal(t, []byte("alice"), s.Do("ACL WHOAMI"))
		conn := s.S.(*redisconn.Connection)
		assert.Equal(t, []any{addr, addr, true}, []any{conn.Addr(), conn.Handle(), conn.ConnectedNow()})
		assert.False(t, conn.PingLatency() > redisconn.PingMaxLatency)
	}
	for want, opts := range map[*errorx.Type]redisconn.Opts{
		redisconn.ErrAuth: {Username: "alice", Password: "canary"}, redisconn.ErrInit: {DB: 1000},
		redisconn.ErrTLS: {TLSEnabled: true, TLSConfig: &tls.Config{RootCAs: ca.Pool()}},
	} {
		log, addr := &userLogger{}, server.Addr()
		if opts.Logger = log; opts.TLSEnabled {
			addr = server.TLSAddr() // the server there does not get the client's certificate
		}
		_, err := redisconn.Connect(t.Context(), addr, opts)
		e := requireErr(t, err, want)
		assert.True(t, e.HasTrait(redisconn.ErrTraitInitPermanent) && e.HasTrait(redis.ErrTraitNotSent))
		assert.NotContains(t, fmt.Sprintf("%+v", e)+log.text(), "canary")
	}
}

func TestCompatAnyAddressIsSafe(t *testing.T) {
	refuse := func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed }
	random, parts := rand.New(rand.NewSource(1)), []string{"tcp://", "unix://", "[::1]", "[", "]", ":", "1", "x", ".", "/", "\x00", "@", "%", " ", "é", "-1", "99999"}
	for range 3000 {
		var addr string
		for range random.Intn(6) {
			addr += parts[random.Intn(len(parts))]
		}
		_, err := redisconn.Connect(t.Context(), addr, redisconn.Opts{ReconnectPause: -1, DialTimeout: time.Millisecond, Dialer: refuse, Logger: redisconn.NoopLogger{}})
		require.Error(t, err, "%q", addr)
	}
}

func TestCompatFaults(t *testing.T) {
	t.Parallel()
	server := testbed.NewServer(t, testbed.Options{Password: "canary"})
	log := &userLogger{}
	s := connectTo(t, server.Addr(), redisconn.Opts{Password: "canary", IOTimeout: 2 * time.Second, ReconnectPause: 10 * time.Millisecond, Logger: log})
	require.Equal(t, "PONG", s.Do("PING"))
	assert.Positive(t, log.stats.Load())
	shown := fmt.Sprintf("%+v %+v %+v", s.Do("NOSUCH", "canary"), s.Do("SET", "k", []string{"canary"}), s.Do("AUTH canary"))

	require.NoError(t, server.Pause())
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	e := requireErr(t, redis.SyncCtx(s).Do(ctx, "SET", "k", "canary"), redis.ErrRequestCancelled)
	assert.Equal(t, context.DeadlineExceeded, e.Cause())
	assert.True(t, requireErr(t, redis.SyncCtx(s).Do(ctx, "GET", "k"), redis.ErrRequestCancelled).HasTrait(redis.ErrTraitNotSent))
	unknown := requireErr(t, s.Do("SET", "k", "canary"), redis.ErrIO)
	assert.False(t, unknown.HasTrait(redis.ErrTraitNotSent))
	shown += fmt.Sprintf("%+v %+v", e, unknown)
	require.NoError(t, server.Resume())

	require.NoError(t, server.Kill())
	require.Eventually(t, func() bool { return !s.S.(*redisconn.Connection).ConnectedNow() }, time.Minute, time.Millisecond)
	require.NoError(t, server.Restart())
	require.Eventually(t, func() bool { return s.Do("PING") == "PONG" }, time.Minute, time.Millisecond)
	s.S.Close()
	assert.True(t, requireErr(t, s.Do("PING"), redis.ErrContextClosed).HasTrait(redis.ErrTraitNotSent))
	require.Eventually(t, func() bool { return strings.Contains(log.text(), ";closed") }, time.Minute, time.Millisecond)
	assert.NotContains(t, shown+log.text(), "canary")
	for _, name := range []string{"connecting ", ";connected ", ";disconnected "} {
		assert.Contains(t, log.text(), name)
	}
}

// userSender is a user's Sender without a connection.
type userSender struct{ answer func(redis.Request) any }

func (s userSender) Send(r redis.Request, cb redis.Future, n uint64) { go cb.Resolve(s.answer(r), n) }
func (s userSender) SendMany(reqs []redis.Request, cb redis.Future, start uint64) {
	for i, r := range reqs {
		s.Send(r, cb, start+uint64(i))
	}
}
func (s userSender) SendTransaction(reqs []redis.Request, cb redis.Future, n uint64) {
	s.Send(reqs[0], cb, n)
}
func (s userSender) EachShard(f func(redis.Sender, error) bool) { f(s, nil) }
func (s userSender) Close()                                     {}
func (s userSender) Scanner(opts redis.ScanOpts) redis.Scanner {
	return &userScanner{redis.ScannerBase{ScanOpts: opts}, s}
}

type userScanner struct {
	redis.ScannerBase
	s redis.Sender
}

func (s *userScanner) Next(cb redis.Future) {
	if s.IterLast() {
		cb.Resolve(redis.ScanEOF, 0)
		return
	}
	s.DoNext(cb, s.s)
}

func scanAll(t *testing.T, it redis.SyncIterator) (all []string) {
	t.Helper()
	for {
		keys, err := it.Next()
		if err == redis.ScanEOF {
			return all
		}
		require.NoError(t, err)
		all = append(all, keys...)
	}
}

func TestCompatOwnSender(t *testing.T) {
	s := redis.Sync{S: userSender{func(r redis.Request) any {
		switch {
		case r.Cmd != "SSCAN":
			return r.Cmd
		case string(r.Args[1].([]byte)) == "0":
			return []any{[]byte("7"), []any{[]byte("a")}}
		}
		return []any{[]byte("0"), []any{[]byte("b")}}
	}}}
	assert.Equal(t, []any{"A", "B"}, s.SendMany([]redis.Request{redis.Req("A"), redis.Req("B")}))
	assert.Equal(t, "C", redis.SyncCtx(s).Do(t.Context(), "C"))
	assert.Equal(t, []string{"a", "b"}, scanAll(t, s.Scanner(redis.ScanOpts{Cmd: "SSCAN", Key: "k"})))
	_, err := s.SendTransaction([]redis.Request{redis.Req("X")})
	requireErr(t, err, redis.ErrResponseUnexpected)
}

func TestCompatDumbAndCluster(t *testing.T) {
	t.Parallel()
	cluster := testbed.NewCluster(t)
	quiet := rediscluster.Opts{Logger: rediscluster.NoopLogger{}, HostOpts: redisconn.Opts{IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}}}
	_, err := rediscluster.NewCluster(t.Context(), nil, quiet)
	requireErr(t, err, redis.ErrNoAddressProvided)
	c, err := rediscluster.NewCluster(t.Context(), cluster.Addrs()[:1], quiet)
	require.NoError(t, err)
	defer c.Close()
	dumb := &redisdumb.Conn{Addr: cluster.Node(0).Addr(), Type: redisdumb.TypeCluster, Timeout: redisdumb.DefaultTimeout}
	defer dumb.Close()
	for i, s := range []redis.Sync{{S: dumb}, {S: c}} {
		for _, key := range []string{"{a}", "{b}", "{c}", "{d}"} { // on all masters
			assert.Equal(t, int64(i+1), s.Do("INCR", key))
			results, err := s.SendTransaction([]redis.Request{redis.Req("GET", key), redis.Req("TYPE", key)})
			require.NoError(t, err)
			assert.Equal(t, []any{fmt.Append(nil, i+1), "string"}, results)
		}
		requireErr(t, s.Do("SUBSCRIBE", "x"), redis.ErrCommandForbidden)
		requireErr(t, s.SendMany([]redis.Request{redis.Req("INCR", "{a}"), redis.Req("INCR", struct{}{})})[0], redis.ErrBatchFormat)
	}
	s := redis.Sync{S: c}
	requireErr(t, s.Do("MGET", "{a}", "{b}"), redis.ErrNoSlotKey)
	assert.ElementsMatch(t, []string{"{a}", "{b}", "{c}", "{d}"}, scanAll(t, s.Scanner(redis.ScanOpts{})))
	for _, policy := range []rediscluster.ReplicaPolicyEnum{rediscluster.MasterOnly, rediscluster.MasterAndSlaves, rediscluster.PreferSlaves} {
		assert.Equal(t, "PONG", redis.Sync{S: c.WithPolicy(policy)}.Do("PING"))
	}
	shards := 0
	c.EachShard(func(s redis.Sender, err error) bool { shards++; return err == nil && s != nil })
	assert.Equal(t, 3, shards)
	assert.Equal(t, redis.AsError(nil), redis.AsError(redisdumb.Do(cluster.Node(0).Addr(), "PING")))
}
