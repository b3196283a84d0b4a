package docs_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/joomcode/redispipe/redis"
)

func Example_doMany() {
	db, end := opened()
	defer end()
	ctx := context.Background()

	// DoMany returns one result for each request.
	for _, res := range db.DoMany(ctx, []redis.Request{
		redis.Req("INCR", "counter"),
		redis.Req("INCRBY", "counter", 10),
	}) {
		fmt.Println(res)
	}
	// Output:
	// 1
	// 11
}

func Example_collect() {
	db, end := opened()
	defer end()
	ctx := context.Background()

	var count int
	var name string
	reqs := []redis.Request{redis.Req("INCR", "a"), redis.Req("GET", "b")}
	err := redis.Collect(reqs, db.DoMany(ctx, reqs), &count, &name)
	var failed *redis.BatchError
	if errors.As(err, &failed) {
		fmt.Println(count, failed.Errors[0], redis.AsErrorx(failed.Errors[1]).Message())
	}
	// Output: 1 <nil> null can't be read as string
}

func Example_futures() {
	conn, end := connected()
	defer end()

	later := redis.ChanFutured{S: conn}.Send(redis.Req("INCR", "counter"))
	// …
	fmt.Println(later.Value())

	done := make(chan struct{})
	conn.Send(redis.Req("INCR", "counter"), redis.FuncFuture(func(res any, _ uint64) {
		fmt.Println(res) // in the goroutine that reads the socket: it must be quick
		close(done)
	}), 0)
	<-done
	// Output:
	// 1
	// 2
}
