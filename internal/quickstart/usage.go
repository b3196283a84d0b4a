package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// usage is the library as a service uses it: one connection, made once, shared
// by all goroutines.
func usage(ctx context.Context, addr, password string) error {
	conn, err := redisconn.Connect(ctx, addr, redisconn.Opts{
		Password: password,
		Logger:   redisconn.NoopLogger{}, // the default one prints to the standard logger
	})
	if err != nil {
		return err
	}
	defer conn.Close()
	db := redis.SyncCtx{S: conn}

	// Every call takes a context. Its deadline holds, whatever the server does.
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()

	// A result is a plain Go value, or an error.
	res := db.Do(ctx, "SET", "quickstart:greeting", "hello")
	if err := redis.AsError(res); err != nil {
		return err
	}
	show("SET", res) // a simple string: string

	res = db.Do(ctx, "GET", "quickstart:greeting")
	if err := redis.AsError(res); err != nil {
		return err
	}
	show("GET", res) // a bulk string: []byte, or nil when there is no such key

	// Several requests at once. Each has a result of its own.
	results := db.SendMany(ctx, []redis.Request{
		redis.Req("INCR", "quickstart:counter"),
		redis.Req("RPUSH", "quickstart:list", "a", 2, 3.5),
		redis.Req("LRANGE", "quickstart:list", 0, -1),
	})
	show("SendMany", results)

	// MULTI and EXEC: all of it runs, or nothing.
	results, err = db.SendTransaction(ctx, []redis.Request{
		redis.Req("INCR", "quickstart:counter"),
		redis.Req("PEXPIRE", "quickstart:counter", time.Minute.Milliseconds()),
	})
	if err != nil {
		return err
	}
	show("SendTransaction", results)

	// All keys of a pattern, in batches.
	keys, err := scan(ctx, db, "quickstart:*")
	if err != nil {
		return err
	}
	show("SCAN", keys)

	// An error says whether the request may have run.
	res = db.Do(ctx, "INCR", "quickstart:greeting")
	switch err := redis.AsErrorx(res); {
	case err == nil:
	case err.IsOfType(redis.ErrResult):
		show("the server refused", err)
	case err.HasTrait(redis.ErrTraitNotSent):
		show("not sent: a retry is safe", err)
	default:
		show("unknown: it may have run", err)
	}

	return redis.AsError(db.Do(ctx, "DEL", "quickstart:greeting", "quickstart:counter", "quickstart:list"))
}

// scan collects the keys that match.
func scan(ctx context.Context, db redis.SyncCtx, match string) ([]string, error) {
	var all []string
	for it := db.Scanner(ctx, redis.ScanOpts{Match: match}); ; {
		keys, err := it.Next()
		if errors.Is(err, redis.ScanEOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, keys...)
	}
}

func show(what string, res any) {
	fmt.Printf("  %-18s %s\n", what, format(res))
}

// format prints strings as strings, wherever in a result they are.
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
