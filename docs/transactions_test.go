package docs_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"slices"
	"testing"
	"time"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/cmd"
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

// take removes a number of items from a stock that holds at least as many.
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

	// In batches and transactions, use a Sender that knows the script.
	batch := redis.SyncCtx{S: redis.WithScripts(db, take)}
	results, err := batch.Transact(ctx, []redis.Request{
		take.Request([]string{"stock"}, 2), // with its body
		take.Request([]string{"stock"}, 3), // by its hash
	})

	fmt.Println(left, results, err)
	// Output: 4 [2 -1] <nil>
}

func Example_scriptsInWatch() {
	db, end := opened()
	defer end()
	ctx := context.Background()
	db.Do(ctx, "SET", "stock", 6)
	db.Do(ctx, "SCRIPT FLUSH")

	results, err := db.Watch(ctx, []string{"stock"}, func(tx *redis.Tx) error {
		tx.Queue(take.RequestWithBody([]string{"stock"}, 2)) // EVAL
		return nil
	})

	fmt.Println(results, err)
	// Output: [4] <nil>
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

// unlock deletes a lock that the token holds. It runs on any server.
var unlock = redis.NewScript(`
	if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
	return redis.call('DEL', KEYS[1])`)

// A lock is released in each way that the server has.
func TestLock(t *testing.T) {
	db, end := opened()
	defer end()
	ctx := t.Context()
	releases := map[string]func(token string) (bool, error){
		"EVALSHA": func(token string) (bool, error) {
			released, err := redis.As[bool](unlock.Do(ctx, db, []string{"lock"}, token))
			return released, err
		},
		"DELIFEQ": func(token string) (bool, error) {
			released, err := cmd.DelIfEq("lock", token).Do(ctx, db) // or db.Do(ctx, "DELIFEQ", "lock", token)
			return released, err
		},
		"DELEX": func(token string) (bool, error) {
			released, err := cmd.DelEx("lock", cmd.IFEQ(token)).Do(ctx, db) // or db.Do(ctx, "DELEX", "lock", "IFEQ", token)
			return released, err
		},
	}
	probes := map[string][]any{"DELIFEQ": {"none", "x"}, "DELEX": {"none"}}
	for command, release := range releases {
		t.Run(command, func(t *testing.T) {
			if probe, ok := probes[command]; ok {
				accepted(t, db, command, command, probe...)
			}
			token := rand.Text() // identifies the holder of the lock
			held, err := cmd.Set("lock", token, cmd.PX(10*time.Second), cmd.NX).Do(ctx, db)

			if !held || err != nil {
				t.Error(held, err)
			}
			if again, err := cmd.Set("lock", "another", cmd.PX(10*time.Second), cmd.NX).Do(ctx, db); again || err != nil {
				t.Error(again, err)
			}
			for _, want := range []bool{true, false} {
				if released, err := release("another"); released || err != nil {
					t.Error(released, err)
				}
				if released, err := release(token); released != want || err != nil {
					t.Error(released, err)
				}
			}
		})
	}
}

// accepted skips the test unless the server accepts a command: the server may be too old for what
// is tested.
func accepted(t *testing.T, db *redispipe.Client, what, command string, args ...any) {
	t.Helper()
	if redis.AsError(db.Do(t.Context(), command, args...)) != nil {
		t.Skipf("the server lacks %s", what)
	}
}

// extend sets the time to live, in milliseconds, of a lock that the token holds. It runs on any server.
var extend = redis.NewScript(`
	if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
	return redis.call('PEXPIRE', KEYS[1], ARGV[2])`)

func TestExtend(t *testing.T) {
	db, end := opened()
	defer end()
	ctx := t.Context()
	token := "mine"
	for holder, want := range map[string]bool{token: true, "another": false} {
		db.Do(ctx, "SET", "lock", holder)

		held, err := redis.As[bool](extend.Do(ctx, db, []string{"lock"}, token, 10_000))

		if held != want || err != nil {
			t.Error(held, err)
		}
		if ttl := db.Do(ctx, "PTTL", "lock"); (ttl != int64(-1)) != want {
			t.Error("a lock of", holder, "has", ttl)
		}
	}
}

func TestCompareAndSet(t *testing.T) {
	db, end := opened()
	defer end()
	ctx := t.Context()
	accepted(t, db, "SET IFEQ", "SET", "none", 1, "IFEQ", 0)
	token := "mine"
	for holder, want := range map[string]bool{token: true, "another": false} {
		db.Do(ctx, "SET", "lock", holder)

		held, err := cmd.Set("lock", token, cmd.PX(10*time.Second), cmd.IFEQ(token)).Do(ctx, db)

		if bool(held) != want || err != nil {
			t.Error(held, err)
		}
		res := db.Do(ctx, "SET", "lock", token, "PX", 10*time.Second, "IFEQ", token)
		if (res == "OK") != want || redis.AsError(res) != nil {
			t.Error(res)
		}
	}
}

func TestFieldsThatExpire(t *testing.T) {
	db, end := opened()
	defer end()
	ctx := t.Context()
	accepted(t, db, "HGETEX", "HGETEX", "none", "FIELDS", 1, "f")

	_, err := cmd.HSetEx("session:1", []cmd.Field{cmd.F("user", "Ann"), cmd.F("cart", 3)}, cmd.EX(time.Hour), nil, nil).Do(ctx, db)
	if err != nil {
		log.Fatal(err)
	}
	fields, err := cmd.HGetEx[string]("session:1", []string{"user", "cart"}, cmd.EX(time.Hour)).Do(ctx, db)

	if !slices.Equal(fields, []string{"Ann", "3"}) || err != nil {
		t.Error(fields, err)
	}
	fields, err = redis.As[[]string](db.Do(ctx, "HGETEX", "session:1", "EX", time.Hour, "FIELDS", 2, "user", "cart"))
	if !slices.Equal(fields, []string{"Ann", "3"}) || err != nil {
		t.Error(fields, err)
	}
	left, err := redis.As[[]int](db.Do(ctx, "HTTL", "session:1", "FIELDS", 1, "user"))
	if err != nil || len(left) != 1 || left[0] <= 0 {
		t.Error(left, err)
	}
}

func TestKeysThatExpire(t *testing.T) {
	db, end := opened()
	defer end()
	ctx := t.Context()
	accepted(t, db, "MSETEX", "MSETEX", 1, "none", 1)
	for _, want := range []bool{true, false} {

		set, err := cmd.MSetEx([]cmd.Field{cmd.F("{ann}name", "Ann"), cmd.F("{ann}age", 30)}, cmd.EX(time.Hour), cmd.NX).Do(ctx, db)

		if set != want || err != nil {
			t.Error(set, err)
		}
	}
	res := db.Do(ctx, "MSETEX", 2, "{ann}name", "Ann", "{ann}age", 30, "EX", time.Hour)
	if res != int64(1) {
		t.Error(res)
	}
}
