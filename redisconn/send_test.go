package redisconn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

func requests(reqs ...redis.Request) []redis.Request { return reqs }

func TestSendMany(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	for name, f := range map[string]func([]redis.Request, redis.Future, uint64){
		"SendMany":       conn.SendMany,
		"SendBatch":      conn.SendBatch,
		"SendBatchFlags": func(r []redis.Request, cb redis.Future, n uint64) { conn.SendBatchFlags(r, cb, n, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			got := newOutcomes(3)
			f(requests(redis.Req("SET", "a", 1), redis.Req("INCR", "a"), redis.Req("GET", "a")), offset{got, 100}, 100)
			require.Equal(t, []any{"OK", int64(2), []byte("2")}, got.Wait(t))
			require.Equal(t, []uint64{0, 1, 2}, got.Order())

			none := newOutcomes(1)
			f(nil, none, 0)
			require.NoError(t, conn.Ping())
			require.Empty(t, none.Order())
		})
	}
}

// offset is a future that subtracts n from the number that it is resolved with.
type offset struct {
	redis.Future
	n uint64
}

// Resolve implements redis.Future.
func (o offset) Resolve(res any, n uint64) { o.Future.Resolve(res, n-o.n) }

// One malformed request fails its batch, and nothing is sent.
func TestMalformedBatches(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, DedicatedConns: -1})
	good := redis.Req("INCR", "counter")
	for name, c := range map[string]struct {
		bad  redis.Request
		want any
	}{
		"argument": {redis.Req("SET", "a", struct{}{}), redis.ErrArgumentType},
		"command":  {redis.Req("", "a"), redis.ErrCommandFormat},
		"blocks":   {redis.Req("BLPOP", "a", 0), redis.ErrCommandForbidden},
	} {
		for bad := range 3 {
			reqs := requests(good, good, good)
			reqs[bad] = c.bad
			got := newOutcomes(3)
			conn.SendMany(reqs, got, 0)
			for i, res := range got.Wait(t) {
				err := redis.AsErrorx(res)
				require.NotNil(t, err, name)
				require.True(t, err.HasTrait(redis.ErrTraitNotSent), name)
				if i == bad {
					require.Equal(t, c.want, err.Type(), name)
				} else {
					requireType(t, res, redis.ErrBatchFormat)
				}
			}

			exec := newOutcome()
			conn.SendTransaction(reqs, exec, 0)
			requireNotSent(t, exec.Wait(t), redis.ErrBatchFormat)
			flags := newOutcomes(4)
			conn.SendBatchFlags(reqs, flags, 0, redisconn.DoTransaction|redisconn.DoAsking)
			requireNotSent(t, flags.Wait(t)[3], redis.ErrBatchFormat)
		}
		err := requireNotSent(t, sendTo(conn, c.bad.Cmd, c.bad.Args...).Wait(t), redis.AsErrorx(redis.CheckRequest(c.bad, false)).Type())
		request, ok := err.Property(redis.EKRequest)
		require.True(t, ok)
		require.Equal(t, c.bad, request)
	}
	require.Nil(t, redis.Sync{S: conn}.Do("GET", "counter"), "something was sent")
}

// If an argument is bad, nothing of its request is sent, whatever other arguments there are.
func TestBadArgumentsSendNothing(t *testing.T) {
	s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: chaos.ScriptedEcho})
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	for _, bad := range []any{struct{}{}, []int{1}, []any{1}, map[string]int{}, 1i, make(chan int), &struct{}{}, time.Now(), errors.New("x")} {
		err := requireNotSent(t, sendTo(conn, "SET", "key", bad, "x").Wait(t), redis.ErrArgumentType)
		position, _ := err.Property(redis.EKArgPos)
		require.Equal(t, 1, position)
		err = requireNotSent(t, redis.Sync{S: conn}.Do("SET", "key", "x", bad), redis.ErrArgumentType)
		position, _ = err.Property(redis.EKArgPos)
		require.Equal(t, 2, position)
		require.Equal(t, []byte("ping"), sendTo(conn, "ECHO", "ping").Wait(t))
	}
	for _, r := range s.Requests() {
		require.NotEqual(t, "SET", r.Cmd)
	}
}

func TestSendTransaction(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	sync := redis.Sync{S: conn}
	res, err := sync.SendTransaction(requests(redis.Req("SET", "a", 1), redis.Req("INCR", "a"), redis.Req("GET", "a")))
	require.NoError(t, err)
	require.Equal(t, []any{"OK", int64(2), []byte("2")}, res)

	exec := newOutcome()
	conn.SendTransaction(requests(redis.Req("INCR", "a")), exec, 77)
	require.Equal(t, []any{int64(3)}, exec.Wait(t))

	res, err = sync.SendTransaction(requests(redis.Req("INCR", "a"), redis.Req("LPUSH", "a", 1)))
	require.NoError(t, err)
	require.Equal(t, int64(4), res[0])
	requireType(t, res[1], redis.ErrResult)

	_, err = sync.SendTransaction(requests(redis.Req("INCR", "a"), redis.Req("NOSUCHCOMMAND")))
	requireType(t, err, redis.ErrExecAbort)
	require.Equal(t, []byte("4"), sync.Do("GET", "a"))

	res, err = sync.SendTransaction(nil)
	require.NoError(t, err)
	require.Empty(t, res)

	conn.SendTransaction(requests(redis.Req("INCR", "a")), nil, 0)
	require.Equal(t, []byte("5"), sync.Do("GET", "a"))
}

func TestSendBatchFlags(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	got := newOutcomes(3)
	conn.SendBatchFlags(requests(redis.Req("SET", "a", 1), redis.Req("INCR", "a")), got, 0, redisconn.DoTransaction)
	require.Equal(t, []any{"QUEUED", "QUEUED", []any{"OK", int64(2)}}, got.Wait(t))

	fake := chaos.NewScripted(t, chaos.ScriptedOpts{})
	conn = connect(t, fake.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, NoClientInfo: true})
	asked := newOutcomes(3)
	conn.SendBatchFlags(requests(redis.Req("SET", "a", 1), redis.Req("INCR", "a")), asked, 0, redisconn.DoTransaction|redisconn.DoAsking)
	asked.Wait(t)
	one := newOutcome()
	conn.SendAsk(redis.Req("GET", "a"), one, 0, true)
	one.Wait(t)
	conn.SendAsk(redis.Req("GET", "b"), nil, 0, false)
	sendTo(conn, "LAST").Wait(t)
	var said []string
	for _, r := range fake.Requests() {
		if r.Cmd != "PING" {
			said = append(said, r.Cmd)
		}
	}
	require.Equal(t, "ASKING MULTI SET INCR EXEC ASKING GET GET LAST", strings.Join(said, " "))
}

func TestNilFuture(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	conn.Send(redis.Req("INCR", "a"), nil, 0)
	conn.SendMany(requests(redis.Req("INCR", "a"), redis.Req("LPUSH", "a", 1)), nil, 0)
	conn.Send(redis.Req("SELECT", 1), nil, 0)
	conn.Send(redis.Req("SET", "a", struct{}{}), nil, 0)
	conn.SendMany(requests(redis.Req("SET", "a", struct{}{})), nil, 0)
	require.Equal(t, []byte("2"), redis.Sync{S: conn}.Do("GET", "a"))
	conn.Close()
	conn.Send(redis.Req("INCR", "a"), nil, 0)
}

// Each request gets its own reply, in the order of each goroutine.
func TestOrder(t *testing.T) {
	s := testbed.NewServer(t)
	for name, opts := range map[string]redisconn.Opts{
		"default": {}, "at once": {WritePause: -1}, "integrity": {Integrity: true}, "paused": {WritePause: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			opts.Logger = redisconn.NoopLogger{}
			conn := connect(t, s.Addr(), opts)
			var wg sync.WaitGroup
			for g := range 20 {
				wg.Go(func() {
					const n = 300
					got := newOutcomes(n)
					for i := 0; i < n; {
						if many := min(n-i, i%7); many > 1 {
							var reqs []redis.Request
							for j := range many {
								reqs = append(reqs, redis.Req("ECHO", fmt.Sprint(g, " ", i+j)))
							}
							conn.SendMany(reqs, got, uint64(i))
							i += many
							continue
						}
						conn.Send(redis.Req("ECHO", fmt.Sprint(g, " ", i)), got, uint64(i))
						i++
					}
					for i, res := range got.Wait(t) {
						if fmt.Sprint(g, " ", i) != fmt.Sprintf("%s", res) {
							t.Errorf("%d %d got %s", g, i, res)
						}
					}
					for i, n := range got.Order() {
						if n != uint64(i) {
							t.Errorf("%d was resolved as number %d", n, i)
							break
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// The caller may reuse its slices as soon as Send returns.
func TestArgumentsAreNotKept(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	require.NoError(t, s.Pause())
	value, args := []byte("before"), []any{"a", nil}
	args[1] = value
	reqs := requests(redis.Request{Cmd: "SET", Args: args})
	first := newOutcome()
	conn.Send(reqs[0], first, 0)
	second := newOutcomes(1)
	conn.SendMany(requests(redis.Req("SETNX", "b", value)), second, 0)
	copy(value, "after!")
	args[0], reqs[0].Cmd = "other", "DEL"
	require.NoError(t, s.Resume())
	require.Equal(t, "OK", first.Wait(t))
	second.Wait(t)
	require.Equal(t, []byte("before"), redis.Sync{S: conn}.Do("GET", "a"))
	require.Equal(t, []byte("before"), redis.Sync{S: conn}.Do("GET", "b"))
}

// No error contains an argument, because arguments may be secret.
func TestErrorsDoNotShowArguments(t *testing.T) {
	t.Parallel()
	s := testbed.NewServer(t)
	log := &recorder{}
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: log, IOTimeout: time.Second})
	secret := requests(redis.Req("SET", "key", canary), redis.Req("SET", "key", canary, struct{ S string }{canary}))
	check := func(res any) {
		t.Helper()
		require.Error(t, redis.AsError(res))
		requireSecret(t, res)
	}
	check(redis.Sync{S: conn}.Do("SET", "key", canary, struct{ S string }{canary}))
	check(sendTo(conn, "SELECT", canary).Wait(t))
	check(sendTo(conn, "SE LECT "+canary).Wait(t))
	for _, res := range (redis.Sync{S: conn}).SendMany(secret) {
		check(res)
	}
	_, err := redis.Sync{S: conn}.SendTransaction(secret)
	check(err)
	check(sendTo(conn, "NOSUCHCOMMAND", canary).Wait(t))
	require.NoError(t, s.Pause())
	check(redis.Sync{S: conn}.Do("SET", "key", canary))
	ctx, cancel := context.WithTimeout(background, time.Millisecond)
	defer cancel()
	check(redis.SyncCtx{S: conn}.Do(ctx, "SET", "key", canary))
	require.NoError(t, s.Resume())
	conn.Close()
	check(redis.Sync{S: conn}.Do("SET", "key", canary))
	eventually(t, "the end", func() bool { return log.Count("ContextClosed") == 1 })
	for _, event := range log.Events() {
		requireSecret(t, event)
	}
}

func TestEveryArgumentType(t *testing.T) {
	s := chaos.NewScripted(t, chaos.ScriptedOpts{})
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	args := []any{nil, []byte("b"), "s", 1, int8(-8), int16(16), int32(-32), int64(64), uint(1), uint8(8), uint16(16),
		uint32(32), uint64(1 << 63), float32(0.1), 0.25, true, false}
	want := []string{"", "b", "s", "1", "-8", "16", "-32", "64", "1", "8", "16", "32", "9223372036854775808", "0.1", "0.25", "1", "0"}
	require.Equal(t, "OK", sendTo(conn, "ONE two", args...).Wait(t))
	require.Equal(t, "OK", redis.Sync{S: conn}.Do("ONE two", args...))
	count := 0
	for _, r := range s.Requests() {
		if r.Cmd == "ONE" {
			require.Equal(t, append([]string{"two"}, want...), r.Args)
			count++
		}
	}
	require.Equal(t, 2, count)
}
