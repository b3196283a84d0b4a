package redisrecipes_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/contrib/redisrecipes/limit"
	"github.com/joomcode/redispipe/testbed"
)

// opened returns a client of a server that end closes.
func opened() (db *redispipe.Client, end func()) {
	server, err := testbed.Start(testbed.Options{})
	if err != nil {
		log.Fatal(err)
	}
	db, err = redispipe.Open(context.Background(), "redis://"+server.Addr(), redispipe.Logger(nil))
	if err != nil {
		log.Fatal(err)
	}
	return db, func() {
		db.Close()
		server.Close()
	}
}

// NewUsersLimiter returns the limiter of LimitUsers.
func NewUsersLimiter(db *redispipe.Client) (*limit.Limiter, error) {
	limiter, err := limit.New(db, limit.Opts{
		Rate:          limit.Rate{Count: 100, Per: time.Minute, Burst: 20},
		OnUnavailable: limit.Local, // or Allow, or Deny
		Processes:     8,
	})
	return limiter, err
}

// LimitUsers refuses requests of users who have sent too many.
func LimitUsers(limiter *limit.Limiter, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d, err := limiter.Allow(r.Context(), "user:"+r.Header.Get("X-User"))
		if err != nil {
			return // the user has left
		}
		if !d.Allowed {
			w.Header().Set("Retry-After", fmt.Sprint(int(d.RetryAfter.Seconds())+1))
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		next.ServeHTTP(w, r)
	})
}

var _, _ = NewUsersLimiter, LimitUsers

func Example_limit() {
	db, end := opened()
	defer end()
	ctx := context.Background()

	limiter, err := limit.New(db, limit.Opts{
		Rate:    limit.Rate{Count: 3, Per: time.Hour},
		Kind:    limit.Window,
		Timeout: time.Minute,
	})
	if err != nil {
		log.Fatal(err)
	}
	for range 4 {
		d, err := limiter.Allow(ctx, "user:1")
		fmt.Println(d.Allowed, d.Remaining, err)
	}
	// Two limits at once: each is decided by itself.
	both, err := limiter.AllowEach(ctx, limit.Take{Key: "user:2", N: 2}, limit.Take{Key: "address:10.0.0.1", N: 1})
	fmt.Println(both[0].Allowed, both[1].Remaining, err)
	// Output:
	// true 2 <nil>
	// true 1 <nil>
	// true 0 <nil>
	// false 0 <nil>
	// true 2 <nil>
}
