package docs_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/joomcode/redispipe/redis"
)

func Example_blocking() {
	ctx, cancel := context.WithCancel(context.Background())
	db, end := opened()
	defer end()
	work := func(job string) {
		fmt.Println(job)
		cancel()
	}
	db.Do(ctx, "RPUSH", "jobs", "paint")

	for ctx.Err() == nil {
		var job []string
		err := db.DoInto(ctx, &job, "BLPOP", "jobs", 0)
		if err != nil {
			log.Print(err) // if its outcome is unknown, one job may be lost
			time.Sleep(100 * time.Millisecond)
			continue
		}
		work(job[1])
	}
	// Output:
	// paint
}

func Example_sessions() {
	ctx := context.Background()
	db, end := opened()
	defer end()

	// In a cluster, the key selects the node; on one server leave it empty.
	err := db.Session(ctx, "", func(session *redis.Session) error {
		session.Do("SELECT", 1)
		return redis.Err(session.Do("SET", "balance", 5))
	})
	fmt.Println(err)
	fmt.Println(db.Do(ctx, "GET", "balance")) // of database 0
	// Output:
	// <nil>
	// <nil>
}
