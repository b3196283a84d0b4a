package memserver_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/memserver"
)

func ExampleStart() {
	server, err := memserver.Start() // in a test: memserver.New(t)
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	conn, err := redisconn.Connect(context.Background(), server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	db := redis.Sync{S: conn}
	fmt.Println(db.Do("SET", "session", "Ann", "EX", 60))
	fmt.Printf("%s\n", db.Do("GET", "session"))
	server.Advance(time.Minute)
	fmt.Println(db.Do("GET", "session"))
	// Output:
	// OK
	// Ann
	// <nil>
}

func ExampleServer_SetError() {
	server, err := memserver.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	conn, err := redisconn.Connect(context.Background(), server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	db := redis.Sync{S: conn}
	server.SetError("LOADING Redis is loading the dataset in memory")
	fmt.Println(redis.SafeToRetry(redis.Err(db.Do("SET", "session", "Ann"))))
	server.SetError("")
	fmt.Println(db.Do("SET", "session", "Ann"))
	fmt.Println(server.Miniredis().Get("session"))
	// Output:
	// true
	// OK
	// Ann <nil>
}
