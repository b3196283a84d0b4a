package redis_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest"
	"github.com/joomcode/redispipe/redistest/memserver"
)

// memory returns a connection to a server in memory that holds the given keys and values. A real
// program uses its own server or cluster.
func memory(pairs ...any) redis.Sender {
	conn := memoryOnce()
	redis.Sync{S: conn}.Do("FLUSHALL")
	if len(pairs) > 0 {
		redis.Sync{S: conn}.Do("MSET", pairs...)
	}
	return conn
}

// memoryOnce starts the server. The server ends with the tests.
var memoryOnce = sync.OnceValue(func() redis.Sender {
	server, err := memserver.Start()
	if err != nil {
		panic(err)
	}
	conn, err := redisconn.Connect(context.Background(), server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if err != nil {
		panic(err)
	}
	return conn
})

func ExampleSync() {
	sync := redis.Sync{S: memory()}
	fmt.Println(sync.Do("SET", "greeting", "hello"))
	fmt.Printf("%s\n", sync.Do("GET", "greeting"))
	fmt.Println(sync.Do("GET", "nothing"))

	// An error is also a result.
	res := sync.Do("INCR", "greeting")
	if err := redis.AsErrorx(res); err != nil {
		fmt.Println(err.IsOfType(redis.ErrResult), err.Message())
	}
	// Output:
	// OK
	// hello
	// <nil>
	// true ERR value is not an integer or out of range
}

func ExampleSync_SendMany() {
	sync := redis.Sync{S: memory()}
	for _, res := range sync.SendMany([]redis.Request{
		redis.Req("SET", "a", "one"),
		redis.Req("INCR", "a"),
		redis.Req("GET", "a"),
	}) {
		if err := redis.AsErrorx(res); err != nil {
			fmt.Println("failed:", err.Message())
			continue
		}
		fmt.Printf("%s\n", res)
	}
	// Output:
	// OK
	// failed: ERR value is not an integer or out of range
	// one
}

func ExampleSync_SendTransaction() {
	sync := redis.Sync{S: memory()}
	results, err := sync.SendTransaction([]redis.Request{
		redis.Req("SET", "a", 1),
		redis.Req("GET", "a"),
	})
	if err != nil {
		fmt.Println(err) // the requests did not run, or that is not known
		return
	}
	fmt.Printf("%s\n", results)
	// Output: [OK 1]
}

func ExampleSync_Transact() {
	sync := redis.Sync{S: memory()}
	results, err := sync.Transact([]redis.Request{
		redis.Req("SET", "a", "one"),
		redis.Req("INCR", "a"),
		redis.Req("GET", "a"),
	})
	var failed *redis.ResultError
	if errors.As(err, &failed) {
		fmt.Println("request", failed.Index, "of", len(results), "failed, the others have run")
	}
	// Output: request 1 of 3 failed, the others have run
}

func ExampleErr() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // the caller leaves
	sync := redis.SyncCtx{S: memory()}
	err := redis.Err(sync.Do(ctx, "SET", "greeting", "bye"))
	fmt.Println(errors.Is(err, context.Canceled))
	fmt.Println(errors.Is(err, redis.ErrNotSent))

	var greeting string
	err = sync.DoInto(context.Background(), &greeting, "GET", "greeting")
	fmt.Println(errors.Is(err, redis.Nil))
	// Output:
	// true
	// true
	// true
}

// A time.Duration is sent as the number that the command takes.
func ExampleRequest_duration() {
	sync := redis.Sync{S: memory()}
	fmt.Println(sync.Do("SET", "session", "Ann", "EX", time.Minute))
	fmt.Println(sync.Do("PEXPIRE", "session", 90*time.Second))
	err := redis.Err(sync.Do("EXPIRE", "session", 1500*time.Millisecond))
	fmt.Println(redis.AsErrorx(err).Message())
	// Output:
	// OK
	// 1
	// EXPIRE: Args[1] can't be sent: the time.Duration is not a whole number of seconds, which the command takes there: truncate it
}

func ExampleSync_DoInto() {
	sync := redis.Sync{S: memory("visits", "41")}
	var visits int64
	if err := sync.DoInto(&visits, "GET", "visits"); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(visits + 1)
	// Output: 42
}

func ExampleSyncCtx() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	sync := redis.SyncCtx{S: memory("greeting", "hello")}
	fmt.Printf("%s\n", sync.Do(ctx, "GET", "greeting"))

	cancel()
	err := redis.AsErrorx(sync.Do(ctx, "SET", "greeting", "bye"))
	fmt.Println(err.IsOfType(redis.ErrRequestCancelled), err.HasTrait(redis.ErrTraitNotSent))
	// Output:
	// hello
	// true true
}

func ExampleChanFutured() {
	futured := redis.ChanFutured{S: memory("a", "1", "b", "2")}
	one := futured.Send(redis.Req("GET", "a"))
	many := futured.SendMany([]redis.Request{redis.Req("GET", "a"), redis.Req("GET", "b")})
	// The program can do something else here.
	fmt.Printf("%s\n", one.Value())
	for _, future := range many {
		<-future.Done()
		fmt.Printf("%s\n", future.Value())
	}
	// Output:
	// 1
	// 1
	// 2
}

func ExampleScanner() {
	mock := redistest.NewMock(nil) // a mock, because a real server chooses its own batches
	mock.ExpectScan(redis.ScanOpts{Match: "key:*"}, []string{"key:1", "key:2"}, []string{"key:3"})
	it := redis.Sync{S: mock}.Scanner(redis.ScanOpts{Match: "key:*"})
	for {
		keys, err := it.Next()
		if err == redis.ScanEOF {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(keys)
	}
	// Output:
	// [key:1 key:2]
	// [key:3]
}

func ExampleAs() {
	sync := redis.Sync{S: memory("visits", "41")}
	visits, err := redis.As[int64](sync.Do("GET", "visits"))
	fmt.Println(visits, err)
	_, err = redis.As[int64](sync.Do("GET", "nothing"))
	fmt.Println(redis.AsErrorx(err).IsOfType(redis.ErrResponseNil))
	// Output:
	// 41 <nil>
	// true
}
