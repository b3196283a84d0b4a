package docs_test

import (
	"expvar"
	"log"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

var _ = func(conn *redisconn.Connection, err error) {
	if delay, ok := redis.DelayOf(err); ok {
		log.Print(delay.Longest(), ": ", delay) // wire: queue 40µs, wire 999ms, … behind 12 requests of 300 bytes
	}
	expvar.Publish("redis", expvar.Func(func() any { return conn.Stats() }))
}
