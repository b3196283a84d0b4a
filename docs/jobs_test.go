package docs_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/joomcode/redispipe/redis"
)

func Example_jobs() {
	db, end := opened()
	defer end()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	db.Do(ctx, "RPUSH", "jobs", "paint", "dry")
	work := func(job []byte) error {
		fmt.Println(string(job))
		if string(job) == "dry" {
			cancel()
			return errors.New("the last one fails")
		}
		return nil
	}

	reader, err := redis.NewJobReader(db, redis.JobOpts{Queue: "jobs", Ack: true})
	if err != nil {
		log.Fatal(err)
	}
	for job, err := range reader.Jobs(ctx) {
		if err != nil {
			log.Print(err) // the reader continues
			continue
		}
		if err := work(job.Payload); err != nil {
			log.Print(err) // not acknowledged: it is delivered again after MinIdle
			continue
		}
		reader.Ack(job)
	}
	left, err := redis.As[[]string](db.Do(context.Background(), "KEYS", "*:working:*"))
	fmt.Println(len(left), err)
	// Output:
	// paint
	// dry
	// 1 <nil>
}
