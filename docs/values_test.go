package docs_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisreply"
)

func Example_results() {
	db, end := opened()
	defer end()
	ctx := context.Background()

	res := db.Do(ctx, "SET", "key", "value", "EX", 60)
	if err := redis.Err(res); err != nil {
		log.Fatal(err)
	}
	switch res := db.Do(ctx, "GET", "key").(type) {
	case []byte:
		fmt.Printf("%s\n", res)
	case nil:
		fmt.Println("no such key")
	case error:
		log.Fatal(res)
	}
	// Output: value
}

func Example_null() {
	db, end := opened()
	defer end()
	ctx := context.Background()

	var name *string
	if err := db.DoInto(ctx, &name, "GET", "name"); err != nil {
		log.Fatal(err)
	}
	if name == nil {
		fmt.Println("no such key")
	}
	// Output: no such key
}

// User is stored as a hash.
type User struct {
	Name  string        `redis:"name"`
	Age   uint8         `redis:"age"`
	Mail  *string       `redis:"mail"`            // nil: there is none
	Title string        `redis:"title,omitempty"` // left out when empty
	Seen  time.Time     `redis:"seen,unix"`
	Quota time.Duration `redis:"quota,ms"`
}

func Example_structs() {
	db, end := opened()
	defer end()
	ctx := context.Background()

	ann := User{Name: "Ann", Age: 30, Seen: time.Unix(1700000000, 0), Quota: time.Second}
	res := db.Do(ctx, "HSET", redis.Args("user:1", &ann)...)
	if err := redis.Err(res); err != nil {
		log.Fatal(err)
	}
	var user *User
	if err := db.DoInto(ctx, &user, "HGETALL", "user:1"); err != nil {
		log.Fatal(err) // for example, a field is missing
	}
	if user == nil {
		log.Fatal("no such user")
	}
	fmt.Println(user.Name, user.Age, user.Mail, user.Seen, user.Quota)

	// Only some of the fields, which is all that this struct has.
	var brief struct {
		Name string `redis:"name"`
	}
	fmt.Println(db.DoInto(ctx, &brief, "HMGET", "user:1", "name"), brief.Name)

	// A User can't be nil for a key that is not there.
	_, err := redis.As[User](db.Do(ctx, "HGETALL", "user:2"))
	fmt.Println(errors.Is(err, redis.Nil))

	// Nothing is cut or zeroed silently.
	db.Do(ctx, "HSET", "user:1", "age", 256)
	err = db.DoInto(ctx, &user, "HGETALL", "user:1")
	fmt.Println(redis.AsErrorx(err).Message())
	// Output:
	// Ann 30 <nil> 2023-11-14 22:13:20 +0000 UTC 1s
	// <nil> Ann
	// true
	// field Age of docs_test.User (tag `redis:"age"`): the reply is out of the range of uint8
}

func Example_typed() {
	db, end := opened()
	defer end()
	ctx := context.Background()

	// A leaderboard.
	players := []redis.Scored[string]{{Member: "ann", Score: 3}, {Member: "bob", Score: 5}}
	db.Do(ctx, "ZADD", redis.Args("board", players)...)
	top, err := redis.As[[]redis.Scored[string]](db.Do(ctx, "ZRANGE", "board", 0, 9, "REV", "WITHSCORES"))
	fmt.Println(top, err)

	// A stream.
	db.Do(ctx, "XADD", redis.Args("visits", "1-0", map[string]int{"page": 7})...)
	visits, err := redis.As[[]redis.Entry[map[string]int]](db.Do(ctx, "XRANGE", "visits", "-", "+"))
	fmt.Println(visits, err)

	// Null is a nil pointer.
	db.Do(ctx, "SET", "a", 1)
	numbers, err := redis.As[[]*int](db.Do(ctx, "MGET", "a", "b"))
	fmt.Println(*numbers[0], numbers[1], err)
	// Output:
	// [{bob 5} {ann 3}] <nil>
	// [{1-0 map[page:7]}] <nil>
	// 1 <nil> <nil>
}

func Example_replies() {
	db, end := opened()
	defer end()
	ctx := context.Background()

	var info redisreply.Info
	if err := db.DoInto(ctx, &info, "INFO", "memory"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(info["memory"]["maxmemory"])
	// Output: 0
}

func Example_times() {
	db, end := opened()
	defer end()
	ctx := context.Background()

	if err := redis.Err(db.Do(ctx, "SET", "token", "s3cret", "EX", time.Minute)); err != nil {
		log.Fatal(err)
	}
	ttl, err := redis.As[redis.Seconds](db.Do(ctx, "TTL", "token"))

	fmt.Println(ttl, err)
	// Output: 1m0s <nil>
}

func Example_iterators() {
	db, end := opened()
	defer end()
	ctx := context.Background()
	db.Do(ctx, "HSET", "visits", "home", 3)
	db.Do(ctx, "ZADD", "board", 5, "bob")

	for key, err := range redis.Keys(ctx, db, redis.ScanOpts{Match: "v*"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(key)
	}
	for field, err := range redis.Fields[int](ctx, db, redis.ScanOpts{Key: "visits"}) {
		fmt.Println(field.Name, field.Value+1, err)
	}
	for player, err := range redis.ScoredMembers[string](ctx, db, redis.ScanOpts{Key: "board"}) {
		fmt.Println(player.Member, player.Score, err)
	}
	// Output:
	// visits
	// home 4 <nil>
	// bob 5 <nil>
}

func Example_stream() {
	conn, end := connected()
	defer end()
	ctx := context.Background()
	w, file, size := os.Stdout, strings.NewReader("a long one"), int64(10)

	res := conn.DoStream(ctx, nil, "SET", "film", redis.Stream{R: file, Size: size})
	if err := redis.Err(res); err != nil {
		log.Fatal(err)
	}
	n := conn.DoStream(ctx, w, "GET", "film")
	if err := redis.Err(n); err != nil {
		log.Fatal(err)
	}
	fmt.Println(":", n, "bytes")
	// Output: a long one: 10 bytes
}
