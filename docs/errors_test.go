package docs_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest"
)

func Example_outcome() {
	mock := redistest.NewMock(nil)
	mock.Expect("INCR", "counter").Reply(1)
	db := redis.SyncCtx{S: mock}
	ctx := context.Background()

	res := db.Do(ctx, "INCR", "counter")
	switch redis.OutcomeOf(res) {
	case redis.OutcomeValue: // it ran
	case redis.OutcomeRefused: // the server answered with an error
	case redis.OutcomeNotSent: // it did not run
	case redis.OutcomeUnknown: // it may have run
	}

	fmt.Println(redis.OutcomeOf(res))
	// Output: value
}

func Example_outcomes() {
	for _, res := range []any{
		"OK",
		redis.ErrLoading.New("LOADING Redis is loading the dataset in memory"),
		redis.ErrQueueFull.New("full"),
		redis.ErrIO.New("broken"),
	} {
		fmt.Println(redis.OutcomeOf(res), redis.SafeToRetry(redis.Err(res)))
	}
	// Output:
	// value false
	// refused true
	// not sent true
	// unknown false
}

func Example_deadline() {
	mock := redistest.NewMock(nil)
	mock.Expect("GET", "key").NoReply()
	db := redis.SyncCtx{S: mock}

	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err := redis.Err(db.Do(ctx, "GET", "key"))
	if errors.Is(err, context.DeadlineExceeded) {
		log.Print("too late; it may have run: ", errors.Is(err, redis.ErrUnknown))
	}

	fmt.Println(redis.OutcomeOf(err), errors.Is(err, context.DeadlineExceeded))
	mock.Close()
	// Output: unknown true
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
