package redistest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest"
	"github.com/joomcode/redispipe/redistest/memserver"
)

// subject is a sender whose behaviour is tested. If a request is to be answered, the test calls
// expect before it sends the request.
type subject struct {
	redis.Sender
	expect func(reply any, cmd string, args ...any)
	scan   func(opts redis.ScanOpts, keys ...string)
	tx     func(reply []any, reqs ...redis.Request)
}

func mocked(t *testing.T) subject {
	m := redistest.NewMock(t)
	return subject{
		Sender: m,
		expect: func(reply any, cmd string, args ...any) { m.Expect(cmd, args...).Reply(reply) },
		scan:   func(opts redis.ScanOpts, keys ...string) { m.ExpectScan(opts, keys) },
		tx:     func(reply []any, reqs ...redis.Request) { m.ExpectTransaction(reqs...).Reply(reply) },
	}
}

func connected(t *testing.T) subject {
	conn, err := redisconn.Connect(t.Context(), memserver.New(t).Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, IOTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return subject{
		Sender: conn,
		expect: func(any, string, ...any) {},
		scan:   func(redis.ScanOpts, ...string) {},
		tx:     func([]any, ...redis.Request) {},
	}
}

func recorded(s subject) subject {
	s.Sender = redistest.NewRecorder(s.Sender)
	return s
}

// TestContract checks that mocks and recorders behave like a connection.
func TestContract(t *testing.T) {
	for name, subject := range map[string]func(t *testing.T) subject{
		"connection":          connected,
		"mock":                mocked,
		"recorded connection": func(t *testing.T) subject { return recorded(connected(t)) },
		"recorded mock":       func(t *testing.T) subject { return recorded(mocked(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := subject(t)
			contractOfSend(t, s)
			contractOfMalformed(t, s)
			contractOfCancelled(t, s)
			contractOfScanner(t, s)
			contractOfClose(t, s)
		})
	}
}

// gathered keeps the results of a future.
type gathered struct {
	res any
	n   uint64
}

// gather calls send with a future, and waits until the future was resolved n times.
func gather(n int, send func(cb redis.Future)) map[uint64]any {
	results := make(chan gathered)
	go send(redis.FuncFuture(func(res any, n uint64) { results <- gathered{res, n} }))
	all := map[uint64]any{}
	for range n {
		g := <-results
		all[g.n] = g.res
	}
	return all
}

func contractOfSend(t *testing.T, s subject) {
	s.expect("OK", "SET", "k", "v")
	value := []byte("v")
	assert.Equal(t, map[uint64]any{7: "OK"}, gather(1, func(cb redis.Future) {
		s.Send(redis.Req("SET", "k", value), cb, 7)
		value[0] = 'x' // arguments may be changed as soon as Send returns
	}))
	s.expect(1, "INCR", "n")
	s.Send(redis.Req("INCR", "n"), nil, 0)
	s.expect([]byte("v"), "GET", "k")
	s.expect(2, "INCR", "n")
	assert.Equal(t, map[uint64]any{5: []byte("v"), 6: int64(2)}, gather(2, func(cb redis.Future) {
		s.SendMany([]redis.Request{redis.Req("GET", "k"), redis.Req("INCR", "n")}, cb, 5)
	}))
	s.SendMany(nil, nil, 0)
	tx := []redis.Request{redis.Req("INCR", "n"), redis.Req("GET", "k")}
	s.tx([]any{3, []byte("v")}, tx...)
	assert.Equal(t, map[uint64]any{4: []any{int64(3), []byte("v")}}, gather(1, func(cb redis.Future) {
		s.SendTransaction(tx, cb, 4)
	}))
	assert.Equal(t, map[uint64]any{4: []any{}}, gather(1, func(cb redis.Future) { s.SendTransaction(nil, cb, 4) }))
	shards := 0
	s.EachShard(func(shard redis.Sender, err error) bool {
		shards++
		assert.NoError(t, err)
		s.expect("PONG", "PING")
		assert.Equal(t, "PONG", redis.Sync{S: shard}.Do("PING"))
		return true
	})
	assert.Equal(t, 1, shards)
}

func contractOfMalformed(t *testing.T, s subject) {
	bad := redis.Req("GET", struct{}{})
	all := gather(1, func(cb redis.Future) { s.Send(bad, cb, 1) })
	assertType(t, redis.ErrArgumentType, all[1])
	all = gather(1, func(cb redis.Future) { s.Send(redis.Req("SELECT", 1), cb, 1) })
	assertType(t, redis.ErrCommandForbidden, all[1])
	all = gather(1, func(cb redis.Future) { s.SendMany([]redis.Request{redis.Req("BLPOP", "k", 1)}, cb, 1) })
	assertType(t, redis.ErrCommandForbidden, all[1])
	all = gather(1, func(cb redis.Future) { s.Send(redis.Req("BLPOP", struct{}{}, 1), cb, 1) })
	assertType(t, redis.ErrArgumentType, all[1])
	all = gather(1, func(cb redis.Future) { s.Send(redis.Req(""), cb, 1) })
	assertType(t, redis.ErrCommandFormat, all[1])
	reqs := []redis.Request{redis.Req("GET", "k"), bad, redis.Req("GET", "k")}
	all = gather(3, func(cb redis.Future) { s.SendMany(reqs, cb, 0) })
	assertType(t, redis.ErrBatchFormat, all[0])
	assertType(t, redis.ErrArgumentType, all[1])
	assertType(t, redis.ErrBatchFormat, all[2])
	all = gather(1, func(cb redis.Future) { s.SendTransaction(reqs, cb, 9) })
	assertType(t, redis.ErrBatchFormat, all[9])
	assert.True(t, redis.AsErrorx(all[9]).HasTrait(redis.ErrTraitNotSent))
}

func contractOfCancelled(t *testing.T, s subject) {
	reqs := []redis.Request{redis.Req("GET", "k"), redis.Req("GET", "k")}
	for n, send := range map[int]func(cb redis.Future){
		1: func(cb redis.Future) { s.Send(reqs[0], cb, 0) },
		2: func(cb redis.Future) { s.SendMany(reqs, cb, 0) },
		// -1 stands for the transaction.
		-1: func(cb redis.Future) { s.SendTransaction(reqs, cb, 0) },
	} {
		all := gather(max(n, 1), func(cb redis.Future) { send(cancelled{cb.(redis.FuncFuture)}) })
		for _, res := range all {
			assertType(t, redis.ErrRequestWithdrawn, res)
			assert.True(t, redis.AsErrorx(res).HasTrait(redis.ErrTraitNotSent))
		}
	}
}

func contractOfScanner(t *testing.T, s subject) {
	opts := redis.ScanOpts{Match: "k*", Count: 100}
	s.scan(opts, "k")
	it := s.Scanner(opts)
	assert.Equal(t, map[uint64]any{0: []string{"k"}}, gather(1, it.Next))
	for range 2 {
		assert.Equal(t, map[uint64]any{0: redis.ScanEOF}, gather(1, it.Next))
	}
	it = s.Scanner(redis.ScanOpts{})
	assertType(t, redis.ErrRequestWithdrawn, gather(1, func(cb redis.Future) { it.Next(cancelled{cb.(redis.FuncFuture)}) })[0])
	s.scan(redis.ScanOpts{}, "k", "n")
	again := gather(1, it.Next)[0]
	assert.ElementsMatch(t, []string{"k", "n"}, again, "the step that failed is repeated")
}

func contractOfClose(t *testing.T, s subject) {
	s.Close()
	s.Close()
	all := gather(2, func(cb redis.Future) {
		s.SendMany([]redis.Request{redis.Req("GET", "k"), redis.Req("GET", "k")}, cb, 0)
	})
	for _, res := range all {
		assertType(t, redis.ErrContextClosed, res)
		assert.True(t, redis.AsErrorx(res).HasTrait(redis.ErrTraitNotSent))
	}
	assertType(t, redis.ErrContextClosed, gather(1, func(cb redis.Future) { s.Send(redis.Req("BLPOP", "k", 1), cb, 0) })[0])
	tx := []redis.Request{redis.Req("GET", "k")}
	assertType(t, redis.ErrContextClosed, gather(1, func(cb redis.Future) { s.SendTransaction(tx, cb, 0) })[0])
	assertType(t, redis.ErrContextClosed, gather(1, s.Scanner(redis.ScanOpts{}).Next)[0])
}
