package redisconn_test

import (
	"context"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// exampleServer starts a server for an example.
func exampleServer() *testbed.Server {
	s, err := testbed.Start(testbed.Options{})
	if err != nil {
		log.Fatal(err)
	}
	return s
}

func Example() {
	server := exampleServer()
	defer server.Close()

	ctx := context.Background()
	conn, err := redisconn.Connect(ctx, server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	// Any number of goroutines can share the connection.
	sender := redis.SyncCtx{S: conn}
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			if err := redis.AsError(sender.Do(ctx, "INCR", "counter")); err != nil {
				log.Print(err)
			}
		})
	}
	wg.Wait()
	fmt.Printf("%s\n", sender.Do(ctx, "GET", "counter"))
	// Output: 100
}

// A context with a deadline limits only Connect, not the connection.
func ExampleConnect() {
	server := exampleServer()
	defer server.Close()

	open := func() (*redisconn.Connection, error) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		return redisconn.Connect(ctx, server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	}
	conn, err := open()
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	fmt.Println(redis.Sync{S: conn}.Do("PING"))
	// Output: PONG
}

func ExampleConnect_failure() {
	_, err := redisconn.Connect(context.Background(), "127.0.0.1:1", redisconn.Opts{
		Logger:         redisconn.NoopLogger{},
		ReconnectPause: -1, // fail now, instead of dialing in the background
	})
	typed := redis.AsErrorx(err)
	fmt.Println(typed.IsOfType(redisconn.ErrDial), typed.HasTrait(redisconn.ErrTraitInitPermanent))
	// Output: true false
}

func ExampleConnection_Send() {
	server := exampleServer()
	defer server.Close()
	conn, err := redisconn.Connect(context.Background(), server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	// Send does not wait. The future gets the results, in order.
	done := make(chan struct{})
	future := redis.FuncFuture(func(res any, n uint64) {
		fmt.Println(n, res)
		if n == 2 {
			close(done)
		}
	})
	conn.Send(redis.Req("SET", "a", 41), future, 1)
	conn.Send(redis.Req("INCR", "a"), future, 2)
	<-done
	// Output:
	// 1 OK
	// 2 42
}

func ExampleConnection_SendTransaction() {
	server := exampleServer()
	defer server.Close()
	conn, err := redisconn.Connect(context.Background(), server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	res, err := redis.Sync{S: conn}.SendTransaction([]redis.Request{
		redis.Req("SET", "a", 1),
		redis.Req("INCRBY", "a", 2),
	})
	fmt.Println(res, err)
	// Output: [OK 3] <nil>
}

// The traits of an error say whether the request may be sent again.
func Example_retry() {
	server := exampleServer()
	defer server.Close()
	conn, err := redisconn.Connect(context.Background(), server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	conn.Close()

	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	res := redis.SyncCtx{S: conn}.Do(ctx, "INCR", "counter")
	if err := redis.AsErrorx(res); err != nil {
		fmt.Println("may be sent again:", err.HasTrait(redis.ErrTraitNotSent))
	}
	// Output: may be sent again: true
}

func ExampleParseURL() {
	addr, opts, err := redisconn.ParseURL("redis://me:p%40ss@localhost:6379/3?dial_timeout=3&read_timeout=500ms")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(addr, opts.Username, opts.DB, opts.DialTimeout, opts.IOTimeout)

	_, _, err = redisconn.ParseURL("redis://localhost?pool=10")
	fmt.Println(err)
	// Output:
	// localhost:6379 me 3 3s 500ms
	// redispipe.opts.url: the parameter "pool" is unknown
}

// Unlike Close, Shutdown waits for the answers to accepted requests.
func ExampleConnection_Shutdown() {
	server := exampleServer()
	defer server.Close()
	conn, err := redisconn.Connect(context.Background(), server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close() // does nothing after Shutdown

	answered := redis.ChanFutured{S: conn}.Send(redis.Req("SET", "key", "value"))

	// At the end of the program, answer all requests, unless that takes long.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := conn.Shutdown(ctx); err != nil {
		log.Print(err) // the error says how many requests were left, sent and unsent
	}
	fmt.Println(answered.Value())
	fmt.Println(redis.AsErrorx(redis.Sync{S: conn}.Do("PING")).IsOfType(redis.ErrContextClosed))
	// Output:
	// OK
	// true
}

// A command that needs its own connection is sent like any other. It uses one of a limited number
// of dedicated connections.
func ExampleOpts_dedicatedConns() {
	server := exampleServer()
	defer server.Close()
	ctx := context.Background()
	conn, err := redisconn.Connect(ctx, server.Addr(), redisconn.Opts{
		DedicatedConns: 16,
		Logger:         redisconn.NoopLogger{},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	client := redis.SyncCtx{S: conn}

	// Watch calls its function again if another client changes the balance before EXEC.
	client.Do(ctx, "SET", "balance", 100)
	results, err := redis.Watch(ctx, conn, []string{"balance"}, func(tx *redis.Tx) error {
		balance, err := redis.As[int64](tx.Do("GET", "balance"))
		if err != nil {
			return err
		}
		tx.Queue("DECRBY", "balance", min(balance, 30))
		return nil
	})
	fmt.Println(results, err)

	// A worker waits up to 30 s for its next job.
	client.Do(ctx, "RPUSH", "jobs", "paint")
	fmt.Printf("%s\n", client.Do(ctx, "BLPOP", "jobs", 30))
	// Output:
	// [70] <nil>
	// [jobs paint]
}
