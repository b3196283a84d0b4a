package docs_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"testing"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/testbed"
)

func Example_transaction() {
	db, end := opened()
	defer end()
	ctx := context.Background()

	reqs := []redis.Request{
		redis.Req("SET", "a", 1),
		redis.Req("INCR", "a"),
	}
	results, err := db.Transact(ctx, reqs)
	var failed *redis.ResultError
	if errors.As(err, &failed) {
		log.Print("request ", failed.Index, " failed; the others ran")
	}
	if err != nil {
		log.Fatal(err)
	}
	var a int64
	err = redis.Collect(reqs, results, nil, &a)
	fmt.Println(a, err)
	// Output: 2 <nil>
}

func Example_watch() {
	db, end := opened()
	defer end()
	ctx := context.Background()
	db.Do(ctx, "SET", "balance", 100)

	results, err := db.Watch(ctx, []string{"balance"}, func(tx *redis.Tx) error {
		var balance int64
		if err := tx.DoInto(&balance, "GET", "balance"); err != nil {
			return err
		}
		tx.Queue("SET", "balance", balance-30)
		return nil
	})

	fmt.Println(results, err)
	fmt.Printf("%s\n", db.Do(ctx, "GET", "balance"))
	// Output:
	// [OK] <nil>
	// 70
}

// take takes so many from a stock, if there are as many.
var take = redis.NewScript(`
	local left = tonumber(redis.call('GET', KEYS[1]) or '0')
	if left < tonumber(ARGV[1]) then return -1 end
	return redis.call('DECRBY', KEYS[1], ARGV[1])`)

func Example_scripts() {
	db, end := opened()
	defer end()
	ctx := context.Background()
	db.Do(ctx, "SET", "stock", 6)

	left, err := redis.As[int64](take.Do(ctx, db, []string{"stock"}, 2))
	if err != nil {
		log.Fatal(err)
	}

	// In batches and transactions, through a Sender that knows the script.
	batch := redis.SyncCtx{S: redis.WithScripts(db, take)}
	results, err := batch.Transact(ctx, []redis.Request{
		take.Request([]string{"stock"}, 2), // with its body
		take.Request([]string{"stock"}, 3), // by its hash
	})

	fmt.Println(left, results, err)
	// Output: 4 [2 -1] <nil>
}

func TestFunctions(t *testing.T) {
	testbed.Needs(t, testbed.Version(7, 0))
	db, end := opened()
	defer end()
	ctx := t.Context()

	stocks := redis.NewLibrary(`#!lua name=stocks
		redis.register_function('add', function(keys, args)
			return redis.call('INCRBY', keys[1], args[1])
		end)`)
	if err := stocks.Load(ctx, db); err != nil {
		log.Fatal(err)
	}
	add := stocks.Function("add")
	n, err := redis.As[int64](add.Do(ctx, db, []string{"stock"}, 10))

	if n != 10 || err != nil {
		t.Error(n, err)
	}
}
