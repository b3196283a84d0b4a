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
