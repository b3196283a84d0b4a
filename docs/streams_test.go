package docs_test

import (
	"context"
	"fmt"
	"log"

	"github.com/joomcode/redispipe/redis"
)

// Order is an entry of a stream of orders.
type Order struct {
	Item  string `redis:"item"`
	Count int    `redis:"count"`
}

func Example_group() {
	db, end := opened()
	defer end()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	res := db.Do(ctx, "XADD", redis.Args("orders", "*", Order{"book", 2})...)
	if err := redis.Err(res); err != nil {
		log.Fatal(err)
	}
	db.Do(ctx, "XADD", redis.Args("orders", "*", Order{"pen", 10})...)

	work := func(order Order) {
		fmt.Println(order.Item, order.Count)
		if order.Item == "pen" {
			cancel() // the last one
		}
	}
	reader, err := redis.NewGroupReader(db, redis.GroupOpts{
		Stream: "orders", Group: "billing", Consumer: "billing-1",
		MaxDeliveries: 5,
		DeadLetter: func(ctx context.Context, msg redis.Message) error {
			return redis.Err(db.Do(ctx, "RPUSH", "orders:dead", msg.ID))
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	for msg, err := range reader.Messages(ctx) {
		if err != nil {
			log.Print(err) // the reader continues
			continue
		}
		order, err := redis.As[Order](msg.Fields)
		if err != nil {
			log.Print(err) // not acknowledged: it is delivered again, and finally goes to DeadLetter
			continue
		}
		work(order)
		if err := reader.Ack(msg.ID); err != nil {
			log.Fatal(err)
		}
	}
	pending, err := redis.As[[]any](db.Do(context.Background(), "XPENDING", "orders", "billing"))
	fmt.Println(pending[0], err)
	// Output:
	// book 2
	// pen 10
	// 0 <nil>
}
