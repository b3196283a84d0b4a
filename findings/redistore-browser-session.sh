#!/bin/sh
# boj/redistore 1.4.1 with gorilla/sessions 1.4.0, as gin-contrib/sessions uses it for Redis; redis-server.
#
# With a MaxAge of 0 ("no Max-Age attribute", so the cookie ends with the browser), Save deletes the session and
# returns no error; the browser gets an empty cookie. RediStore.DefaultMaxAge, the time to live of
# such sessions, has no effect. The next request has an empty session.
#
# Output seen:
#   MaxAge 60: keys 1, next request: value
#   MaxAge 0: keys 0, next request: <nil>
#
# Wants go, redis-server and redis-cli.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
redis 17931
cat >main.go <<'END'
package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/boj/redistore"
	"github.com/gomodule/redigo/redis"
)

func main() {
	store, err := redistore.NewRediStore(1, "tcp", "127.0.0.1:17931", "", "", []byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		panic(err)
	}
	store.DefaultMaxAge = 3600
	failed := false
	for _, c := range []struct {
		age  int
		want string
	}{{60, "keys 1, next request: value"}, {0, "keys 0, next request: <nil>"}} {
		conn := store.Pool.Get()
		if _, err := conn.Do("FLUSHALL"); err != nil {
			panic(err)
		}
		r, w := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
		session, err := store.New(r, "name")
		if err != nil {
			panic(err)
		}
		session.Options.MaxAge = c.age
		session.Values["key"] = "value"
		if err := session.Save(r, w); err != nil {
			panic(err)
		}
		keys, err := redis.Int(conn.Do("DBSIZE"))
		if err != nil {
			panic(err)
		}
		next := httptest.NewRequest(http.MethodGet, "/", nil)
		for _, cookie := range w.Result().Cookies() {
			next.AddCookie(cookie)
		}
		session, _ = store.New(next, "name")
		got := fmt.Sprintf("keys %d, next request: %v", keys, session.Values["key"])
		fmt.Printf("MaxAge %d: %s\n", c.age, got)
		failed = failed || got != c.want
	}
	if failed {
		os.Exit(1)
	}
}
END
build github.com/boj/redistore@v1.4.1 github.com/gorilla/sessions@v1.4.0 github.com/gomodule/redigo@v1.9.2
./main
