package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// usage shows how a service uses the library: it makes one client, and all goroutines share it.
func usage(ctx context.Context, addr, password string) error {
	db, err := redispipe.Open(ctx, "redis://"+addr,
		redispipe.Conn(func(o *redisconn.Opts) { o.Password = password }), // a URL can also contain the password
		redispipe.Logger(nil), // the default logger prints to the standard logger
	)
	if err != nil {
		return err
	}
	defer db.Close()

	// Every call takes a context. It returns by the context's deadline, no matter what the server
	// does.
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()

	// A result is a plain Go value, or an error.
	res := db.Do(ctx, "SET", "quickstart:greeting", "hello")
	if err := redis.Err(res); err != nil {
		return err
	}
	show("SET", res)

	// A reply can be read into a variable.
	var greeting string
	if err := db.DoInto(ctx, &greeting, "GET", "quickstart:greeting"); err != nil {
		return err
	}
	show("GET", greeting)

	// Several requests are sent as one batch. Each has its own result.
	show("DoMany", db.DoMany(ctx, []redis.Request{
		redis.Req("INCR", "quickstart:counter"),
		redis.Req("RPUSH", "quickstart:list", "a", 2, 3.5),
		redis.Req("LRANGE", "quickstart:list", 0, -1),
	}))

	// MULTI and EXEC: either all requests run, or none.
	results, err := db.Transact(ctx, []redis.Request{
		redis.Req("INCR", "quickstart:counter"),
		redis.Req("EXPIRE", "quickstart:counter", time.Minute),
	})
	if err != nil {
		return err
	}
	show("Transact", results)

	// Keys iterates over all keys that match a pattern, in batches.
	for key, err := range redis.Keys(ctx, db, redis.ScanOpts{Match: "quickstart:*"}) {
		if err != nil {
			return err
		}
		show("a key", key)
	}

	// An error says whether the request may have run.
	err = redis.Err(db.Do(ctx, "INCR", "quickstart:greeting"))
	switch {
	case errors.Is(err, redis.ErrRefused):
		show("the server refused", err)
	case errors.Is(err, redis.ErrNotSent):
		show("not sent: a retry is safe", err)
	case errors.Is(err, redis.ErrUnknown):
		show("unknown: it may have run", err)
	}

	return redis.Err(db.Do(ctx, "DEL", "quickstart:greeting", "quickstart:counter", "quickstart:list"))
}

func show(what string, res any) {
	line := fmt.Sprintf("  %-18s %s", what, format(res))
	if len(line) > width {
		line = fmt.Sprintf("  %s:\n%s", what, wrap("    ", format(res)))
	}
	fmt.Println(line)
}

// format formats a result, with byte slices as strings.
func format(res any) string {
	switch res := res.(type) {
	case []byte:
		return fmt.Sprintf("%q", res)
	case string:
		return res
	case error:
		return res.Error()
	case []any:
		parts := make([]string, len(res))
		for i, el := range res {
			parts[i] = format(el)
		}
		return fmt.Sprint(parts)
	}
	return fmt.Sprint(res)
}
