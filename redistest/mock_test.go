package redistest_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest"
)

// fakeT is a TB that records failures.
type fakeT struct {
	mu       sync.Mutex // guards failures
	failures []string
	cleanup  []func()
}

func (f *fakeT) Helper()          {}
func (f *fakeT) Cleanup(c func()) { f.cleanup = append(f.cleanup, c) }
func (f *fakeT) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failures = append(f.failures, fmt.Sprintf(format, args...))
}

// end ends the test and returns its failures.
func (f *fakeT) end() string {
	for _, c := range f.cleanup {
		c()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.failures, "\n")
}

// assertType asserts that res is an error of exactly that type.
func assertType(t testing.TB, typ *errorx.Type, res any) {
	t.Helper()
	err := redis.AsErrorx(res)
	require.NotNil(t, err, "%T", res)
	assert.Equal(t, typ.FullName(), err.Type().FullName(), "%v", err)
}

func TestMockOutcomes(t *testing.T) {
	mock := redistest.NewMock(t)
	db := redis.Sync{S: mock}
	mock.Expect("GET", "k").Reply([]byte("v"))
	assert.Equal(t, []byte("v"), db.Do("GET", "k"))
	mock.Expect("set", "k", 1, redistest.Rest).Reply("OK")
	assert.Equal(t, "OK", db.Do("SET", "k", []byte("1"), "EX", 10))
	mock.Expect("INCR", redistest.Any).Reply(2)
	assert.Equal(t, int64(2), db.Do("INCR", "n"), "an int is what a server sends as an integer")
	mock.Expect("GET", "none").Reply(nil)
	assert.Nil(t, db.Do("GET", "none"))
	mock.Expect("CLUSTER SLOTS").Reply([]any{})
	assert.Equal(t, []any{}, db.Do("cluster", "SLOTS"))

	mock.Expect("GET", "k").ServerError("WRONGTYPE not a string")
	assertType(t, redis.ErrResult, db.Do("GET", "k"))
	mock.Expect("GET", "k").ServerError("MOVED 5 host:1")
	moved := redis.AsErrorx(db.Do("GET", "k"))
	assertType(t, redis.ErrMoved, moved)
	slot, _ := moved.Property(redis.EKSlot)
	assert.Equal(t, int64(5), slot)

	mock.Expect("GET", "k").NotSent()
	err := redis.AsErrorx(db.Do("GET", "k"))
	assertType(t, redistest.ErrNotSent, err)
	assert.True(t, err.HasTrait(redis.ErrTraitNotSent) && err.HasTrait(redis.ErrTraitConnectivity))
	mock.Expect("GET", "k").Unknown()
	err = redis.AsErrorx(db.Do("GET", "k"))
	assertType(t, redis.ErrIO, err)
	assert.False(t, err.HasTrait(redis.ErrTraitNotSent))
	mock.Expect("GET", "k").Fail(redis.ErrQueueFull.New("full"))
	assertType(t, redis.ErrQueueFull, db.Do("GET", "k"))
	for want, end := range map[redis.Outcome]func(e *redistest.Expectation) *redistest.Expectation{
		redis.OutcomeValue:   func(e *redistest.Expectation) *redistest.Expectation { return e.Reply(nil) },
		redis.OutcomeRefused: func(e *redistest.Expectation) *redistest.Expectation { return e.ServerError("ERR no") },
		redis.OutcomeNotSent: (*redistest.Expectation).NotSent,
		redis.OutcomeUnknown: (*redistest.Expectation).Unknown,
	} {
		end(mock.Expect("GET", "k"))
		res := db.Do("GET", "k")
		assert.Equal(t, want, redis.OutcomeOf(res))
		assert.Equal(t, want == redis.OutcomeNotSent, redis.SafeToRetry(redis.AsError(res)))
	}
}

func TestMockReplyFuncAndTimes(t *testing.T) {
	mock := redistest.NewMock(t)
	db := redis.Sync{S: mock}
	var got []redis.Request
	mock.Expect("SET", redistest.Match("even", func(arg string) bool { return len(arg)%2 == 0 }), redistest.Any).
		ReplyFunc(func(r redis.Request) any {
			got = append(got, r)
			return len(got)
		}).Times(2)
	mock.Expect("PING").AnyTimes().Reply("PONG")
	mock.Expect("DBSIZE").Reply(7)
	value := []byte("value")
	assert.Equal(t, int64(1), db.Do("SET", "ab", value))
	value[0] = 'x'
	assert.Equal(t, int64(2), db.Do("SET", "abcd", 5))
	assert.Equal(t, int64(7), db.Do("DBSIZE"), "AnyTimes may be never")
	assert.Equal(t, []redis.Request{redis.Req("SET", "ab", "value"), redis.Req("SET", "abcd", "5")}, got)
}

func TestMockReplyIsCopied(t *testing.T) {
	mock := redistest.NewMock(t)
	reply := []any{[]byte("a"), map[string]any{"k": []byte("b")}, big.NewInt(3), 1.5, true}
	mock.Expect("X").Reply(reply).Times(2)
	db := redis.Sync{S: mock}
	first := db.Do("X").([]any)
	first[0].([]byte)[0] = 'x'
	first[1].(map[string]any)["k"].([]byte)[0] = 'x'
	first[2].(*big.Int).SetInt64(0)
	assert.Equal(t, reply, db.Do("X"))
	assert.Equal(t, []byte("a"), reply[0])
}

func TestMockUnexpected(t *testing.T) {
	long := strings.Repeat("a", 200)
	for _, c := range []struct {
		expect func(m *redistest.Mock)
		send   func(db redis.Sync) any
		want   []string
	}{
		{
			func(m *redistest.Mock) { m.Expect("GET", "user:1").Reply(nil) },
			func(db redis.Sync) any { return db.Do("GET", "user:2") },
			[]string{`got:  GET "user:2"`, `want: GET "user:1" (mock_test.go:`, `word 1 is "user:2", want "user:1"`},
		}, {
			func(m *redistest.Mock) {},
			func(db redis.Sync) any { return db.Do("GET", "k") },
			[]string{"want: nothing more"},
		}, {
			func(m *redistest.Mock) { m.Expect("GET", "a", redistest.Any).Reply(nil) },
			func(db redis.Sync) any { return db.Do("GET", "a") },
			[]string{"word 2 is missing, want <any>"},
		}, {
			func(m *redistest.Mock) { m.Expect("GET").Reply(nil) },
			func(db redis.Sync) any { return db.Do("GET", "a") },
			[]string{`word 1 is "a", want no more`},
		}, {
			func(m *redistest.Mock) { m.Expect("SET", "k", long+"b").Reply("OK") },
			func(db redis.Sync) any { return db.Do("SET", "k", long+"c") },
			[]string{`word 2 differs from byte 200 on: ..."aaaaaaaaaaaaaaaac", want ..."aaaaaaaaaaaaaaaab"`},
		}, {
			func(m *redistest.Mock) {
				m.Expect("SET", "k", redistest.Match("JSON", func(string) bool { return false })).Reply("OK")
			},
			func(db redis.Sync) any { return db.Do("SET", "k", long) },
			[]string{`word 2 differs: it is "aaaa`, `want <JSON>`},
		}, {
			func(m *redistest.Mock) { m.Expect("INCR", "a").Reply(1) },
			func(db redis.Sync) any {
				_, err := db.SendTransaction([]redis.Request{redis.Req("INCR", "a")})
				return err
			},
			[]string{`got:  MULTI; INCR "a"; EXEC`, "it is a transaction"},
		}, {
			func(m *redistest.Mock) {
				m.ExpectTransaction(redis.Req("INCR", "a"), redis.Req("INCR", "b")).Reply(nil)
			},
			func(db redis.Sync) any {
				_, err := db.SendTransaction([]redis.Request{redis.Req("INCR", "a"), redis.Req("INCR", "c")})
				return err
			},
			[]string{`request 1: word 1 is "c", want "b"`},
		}, {
			func(m *redistest.Mock) { m.ExpectTransaction(redis.Req("INCR", "a")).Reply(nil) },
			func(db redis.Sync) any { return db.Do("INCR", "a") },
			[]string{"it is not a transaction"},
		},
	} {
		f := &fakeT{}
		mock := redistest.NewMock(f)
		c.expect(mock)
		res := c.send(redis.Sync{S: mock})
		assertType(t, redistest.ErrUnexpected, res)
		assert.NotContains(t, redis.AsError(res).Error(), "user:2", "errors show no argument, even here")
		failures := f.end()
		for _, want := range c.want {
			assert.Contains(t, failures, want)
		}
	}
}

func TestMockOrder(t *testing.T) {
	f := &fakeT{}
	mock := redistest.NewMock(f)
	mock.Expect("GET", "a").Reply(nil)
	mock.Expect("GET", "b").Reply(nil)
	assertType(t, redistest.ErrUnexpected, redis.Sync{S: mock}.Do("GET", "b"))
	failures := f.end()
	assert.Contains(t, failures, `want: GET "a"`)
	assert.Contains(t, failures, "expected and not sent")
	assert.Equal(t, 1, strings.Count(failures, `want: GET "b"`), "it is no candidate")

	mock = redistest.NewMock(t).AnyOrder()
	mock.Expect("GET", "a").Reply([]byte("1"))
	mock.Expect("GET", "b").Reply([]byte("2"))
	mock.Expect("GET", "b").Reply([]byte("3"))
	db := redis.Sync{S: mock}
	for _, want := range []string{"b2", "a1", "b3"} {
		assert.Equal(t, want[1:], fmt.Sprintf("%s", db.Do("GET", want[:1])))
	}

	f = &fakeT{}
	mock = redistest.NewMock(f).AnyOrder()
	for i := range 12 {
		mock.Expect("GET", i).Reply(nil)
	}
	redis.Sync{S: mock}.Do("GET", "k")
	assert.Contains(t, f.end(), "and 2 more")
}

func TestMockMisuse(t *testing.T) {
	for want, misuse := range map[string]func(m *redistest.Mock){
		"a server's reply can't be a []string":          func(m *redistest.Mock) { m.Expect("X").Reply([]string{"a"}).AnyTimes() },
		"element 1: key \"k\": a server's reply":        func(m *redistest.Mock) { m.Expect("X").Reply([]any{nil, map[string]any{"k": uint8(1)}}).AnyTimes() },
		"args[0] is of type struct {}":                  func(m *redistest.Mock) { m.Expect("X", struct{}{}).AnyTimes().Reply(nil) },
		"args[0] is Rest, which must come last":         func(m *redistest.Mock) { m.Expect("X", redistest.Rest, 1).AnyTimes().Reply(nil) },
		"\"MOVED\" is not an error of a server":         func(m *redistest.Mock) { m.Expect("X").ServerError("MOVED").AnyTimes() },
		"nothing says how the expected request ends: X": func(m *redistest.Mock) { m.Expect("X"); redis.Sync{S: m}.Do("X") },
		"with a []any of 2 results": func(m *redistest.Mock) {
			m.ExpectTransaction(redis.Req("X"), redis.Req("X")).Reply([]any{"OK"}).AnyTimes()
		},
		"with a []any of 0 results": func(m *redistest.Mock) { m.ExpectTransaction().Reply("OK").AnyTimes() },
		"ReplyFunc: a server's reply can't be a []string": func(m *redistest.Mock) {
			m.Expect("X").ReplyFunc(func(redis.Request) any { return []string{} })
			redis.Sync{S: m}.Do("X")
		},
	} {
		f := &fakeT{}
		misuse(redistest.NewMock(f))
		failures := f.end()
		assert.Contains(t, failures, want)
		assert.Contains(t, failures, "mock_test.go:")
	}
}

func TestMockWithoutT(t *testing.T) {
	mock := redistest.NewMock(nil)
	assert.Panics(t, func() { redis.Sync{S: mock}.Do("GET", "k") })
	mock.Expect("GET", "k").Reply(nil)
	assert.Panics(t, mock.Verify)
	redis.Sync{S: mock}.Do("GET", "k")
	assert.NotPanics(t, mock.Verify)
	mock.Close()
	mock.Close()
}

func TestMockDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mock := redistest.NewMock(t)
		mock.Expect("GET", "slow").Reply([]byte("1")).After(time.Minute)
		mock.Expect("GET", "fast").Reply([]byte("2"))
		mock.Expect("GET", "never").NoReply()
		db := redis.SyncCtx{S: mock}
		ctx, cancel := context.WithTimeout(t.Context(), 59*time.Second)
		defer cancel()
		err := redis.AsErrorx(db.Do(ctx, "GET", "slow"))
		assertType(t, redis.ErrRequestCancelled, err)
		assert.Equal(t, context.DeadlineExceeded, err.Cause())
		before := time.Now()
		assert.Equal(t, []byte("2"), db.Do(t.Context(), "GET", "fast"))
		assert.Equal(t, time.Second, time.Since(before), "a slow answer holds up those behind it")

		never := redis.ChanFutured{S: mock}.Send(redis.Req("GET", "never"))
		synctest.Wait()
		mock.Close()
		assertType(t, redis.ErrIO, never.Value())
	})
}

func TestMockScanner(t *testing.T) {
	mock := redistest.NewMock(t)
	opts := redis.ScanOpts{Cmd: "SSCAN", Key: "set", Match: "a*", Count: 5}
	mock.ExpectScan(opts, []string{"a1", "a2"}, nil, []string{"a3"})
	mock.ExpectScan(redis.ScanOpts{})
	it := redis.Sync{S: mock}.Scanner(opts)
	for _, want := range [][]string{{"a1", "a2"}, {}, {"a3"}} {
		keys, err := it.Next()
		require.NoError(t, err)
		assert.Equal(t, want, keys)
	}
	for range 2 {
		_, err := it.Next()
		assert.Equal(t, redis.ScanEOF, err)
	}
	keys, err := redis.Sync{S: mock}.Scanner(redis.ScanOpts{}).Next()
	assert.NoError(t, err)
	assert.Empty(t, keys)
}

func TestMockShards(t *testing.T) {
	mock, one := redistest.NewMock(t), redistest.NewMock(t)
	mock.EachShard(func(s redis.Sender, err error) bool {
		assert.Same(t, mock, s)
		return true
	})
	mock.SetShards(one, nil, one)
	var errs []error
	mock.EachShard(func(s redis.Sender, err error) bool {
		if err != nil {
			assert.Nil(t, s)
		}
		errs = append(errs, err)
		return err == nil
	})
	require.Len(t, errs, 2, "until false")
	assert.True(t, redis.AsErrorx(errs[1]).HasTrait(redis.ErrTraitNotSent))
}

func TestMockScriptMode(t *testing.T) {
	mock := redistest.NewMock(t).ScriptMode()
	mock.Expect("BLPOP", "list", 0).Reply(nil)
	assert.Nil(t, redis.Sync{S: mock}.Do("BLPOP", "list", 0))
}

// A future may call t.FailNow, which ends the goroutine.
func TestMockOutlivesFutures(t *testing.T) {
	mock := redistest.NewMock(t)
	mock.Expect("PING").Reply("PONG").Times(2)
	mock.Send(redis.Req("PING"), redis.FuncFuture(func(any, uint64) { runtime.Goexit() }), 0)
	assert.Equal(t, "PONG", redis.Sync{S: mock}.Do("PING"))
}

// Many goroutines share a mock, as they share a connection.
func TestMockConcurrent(t *testing.T) {
	mock := redistest.NewMock(t).AnyOrder()
	mock.Expect("INCR", "n").Reply(1).Times(1000)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for range 100 {
				assert.NoError(t, redis.AsError(redis.Sync{S: mock}.Do("INCR", "n")))
			}
		})
	}
	wg.Wait()
}

type cancelled struct{ redis.FuncFuture }

func (cancelled) Cancelled() error { return errors.New("nobody waits") }

// In an expectation, as in a request, a duration stands for the number that is sent.
func TestMockOfDurations(t *testing.T) {
	mock := redistest.NewMock(t)
	db := redis.Sync{S: mock}
	mock.Expect("SET", "k", "v", "EX", 60).Reply("OK")
	assert.Equal(t, "OK", db.Do("SET", "k", "v", "EX", time.Minute))
	mock.Expect("PEXPIRE", "k", time.Second).Reply(int64(1))
	assert.Equal(t, []any{int64(1)}, db.SendMany([]redis.Request{redis.Req("PEXPIRE", "k", 1000)}))
	mock.Expect("EXPIRE", "k", 60).Reply(int64(1))
	assert.Equal(t, []any{int64(1)}, db.SendMany([]redis.Request{redis.Req("EXPIRE", "k", time.Minute)}))
}

// A ReplyFunc or a Matcher may call t.FailNow, which ends the goroutine. The test fails, but does
// not hang.
func TestMockGoexit(t *testing.T) {
	mock := redistest.NewMock(t)
	mock.Expect("GET", "k").ReplyFunc(func(redis.Request) any {
		runtime.Goexit()
		return nil
	})
	mock.Expect("PING").Reply("PONG")
	db := redis.Sync{S: mock}
	assertType(t, redistest.ErrUnexpected, db.Do("GET", "k"))
	assert.Equal(t, "PONG", db.Do("PING"))

	mock.Expect("GET", redistest.Match("last", func(string) bool {
		runtime.Goexit()
		return true
	})).AnyTimes().Reply(nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		db.Do("GET", "k")
	}()
	<-done
	mock.Verify()
}

// Close ends unanswered requests, including those behind a request that somebody awaits. It does
// not end refused requests.
func TestMockCloseEndsWhatWaits(t *testing.T) {
	mock := redistest.NewMock(t)
	mock.Expect("GET", "k").NoReply()
	mock.Expect("PING").Reply("PONG")
	ch := redis.ChanFutured{S: mock}
	first, second := ch.Send(redis.Req("GET", "k")), ch.Send(redis.Req("PING"))
	mock.Close()
	third := ch.Send(redis.Req("PING"))
	assertType(t, redis.ErrIO, first.Value())
	assertType(t, redis.ErrIO, second.Value())
	assertType(t, redis.ErrContextClosed, third.Value())
}
