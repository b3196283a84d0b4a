package docs_test

import (
	"context"
	"expvar"
	"fmt"
	"log"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

var _ = func(conn *redisconn.Connection, err error) {
	if delay, ok := redis.DelayOf(err); ok {
		log.Print(delay.Longest(), ": ", delay) // wire: queue 40µs, wire 999ms, … behind 12 requests of 300 bytes
	}
	expvar.Publish("redis", expvar.Func(func() any { return conn.Stats() }))
}

func Example_shutdown() {
	db, end := opened()
	defer end()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := db.Shutdown(ctx); err != nil {
		log.Print(err) // how many requests were not answered
	}
	fmt.Println(redis.OutcomeOf(db.Do(context.Background(), "PING")))
	// Output: not sent
}
