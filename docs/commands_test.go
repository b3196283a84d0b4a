package docs_test

import (
	"context"
	"fmt"
	"log"
	"testing"
	"time"

	"github.com/joomcode/redispipe/cmd"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest"
)

func Example_typedCommands() {
	db, end := opened()
	defer end()
	ctx := context.Background()
	db.Do(ctx, "SET", "user:1", "Ann")

	name, err := cmd.Get[string]("user:1").Do(ctx, db)
	if err != nil {
		log.Fatal(err)
	}
	done, err := cmd.Set("k", "v", cmd.EX(time.Minute), cmd.NX).Do(ctx, db)
	fmt.Println(name, done, err)
	// Output: Ann true <nil>
}

func Example_typedBatch() {
	db, end := opened()
	defer end()
	ctx := context.Background()

	type User struct {
		Name string `redis:"name"`
		Age  int    `redis:"age"`
	}
	if _, err := cmd.HSet("u:1", cmd.Fields(User{"Ann", 30})...).Do(ctx, db); err != nil {
		log.Fatal(err)
	}
	var a int64
	var u User
	err := redis.Batch(ctx, db, cmd.Incr("a").Into(&a), cmd.HGetAll[User]("u:1").Into(&u))
	fmt.Println(a, u, err)
	// Output: 1 {Ann 30} <nil>
}

func Example_typedTransaction() {
	db, end := opened()
	defer end()
	ctx := context.Background()
	db.Do(ctx, "SET", "balance", 100)

	results, err := db.Watch(ctx, []string{"balance"}, func(tx *redis.Tx) error {
		balance, err := cmd.Get[int64]("balance").DoIn(tx)
		if err == nil && balance >= 30 {
			tx.Queue(cmd.DecrBy("balance", 30))
		}
		return err
	})
	fmt.Println(results, err)
	// Output: [70] <nil>
}

func TestTypedMock(t *testing.T) {
	mock := redistest.NewMock(t)
	mock.Expect(cmd.Get[string]("k")).Reply("v")
	if v, err := cmd.Get[string]("k").Do(t.Context(), mock); v != "v" || err != nil {
		t.Error(v, err)
	}
}
