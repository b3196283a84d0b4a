#!/bin/sh
# go-redis 9.23.0, and redigo 1.9.3; redis-server.
#
# HSet of a struct stores 0 or "" for a nil pointer, and Scan then returns a pointer to that value. So after a round
# trip a field that was nil is set, without an error. redigo leaves nil pointers out, and reads them as nil.
#
# Output seen:
#   go-redis, stored: map[age:0 name:Ann note: seen:0]
#   go-redis, scanned: age 0, note "", seen false
#   redigo, stored: map[name:Ann]
#   redigo, scanned: age nil
#
# Wants go, redis-server and redis-cli.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
redis 17931
cat >main.go <<'END'
package main

import (
	"context"
	"fmt"
	"os"

	redigo "github.com/gomodule/redigo/redis"
	"github.com/redis/go-redis/v9"
)

type user struct {
	Name string  `redis:"name"`
	Age  *int    `redis:"age"`
	Note *string `redis:"note"`
	Seen *bool   `redis:"seen"`
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func show(u user) string {
	text := "age nil"
	if u.Age != nil {
		text = fmt.Sprintf("age %d", *u.Age)
	}
	if u.Note != nil {
		text += fmt.Sprintf(", note %q", *u.Note)
	}
	if u.Seen != nil {
		text += fmt.Sprintf(", seen %v", *u.Seen)
	}
	return text
}

func main() {
	ctx, failed := context.Background(), false
	expect := func(what, want, got string) {
		fmt.Printf("%s: %s\n", what, got)
		failed = failed || got != want
	}
	db := redis.NewClient(&redis.Options{Addr: "127.0.0.1:17931"})
	var back user
	must(db.HSet(ctx, "go-redis", user{Name: "Ann"}).Err())
	must(db.HGetAll(ctx, "go-redis").Scan(&back))
	expect("go-redis, stored", "map[age:0 name:Ann note: seen:0]", fmt.Sprint(db.HGetAll(ctx, "go-redis").Val()))
	expect("go-redis, scanned", `age 0, note "", seen false`, show(back))

	conn, err := redigo.Dial("tcp", "127.0.0.1:17931")
	must(err)
	_, err = conn.Do("HSET", redigo.Args{"redigo"}.AddFlat(user{Name: "Ann"})...)
	must(err)
	values, err := redigo.Values(conn.Do("HGETALL", "redigo"))
	must(err)
	back = user{}
	must(redigo.ScanStruct(values, &back))
	expect("redigo, stored", "map[name:Ann]", fmt.Sprint(db.HGetAll(ctx, "redigo").Val()))
	expect("redigo, scanned", "age nil", show(back))
	if failed {
		os.Exit(1)
	}
}
END
build github.com/redis/go-redis/v9@v9.23.0 github.com/gomodule/redigo@v1.9.3
./main
