package redisrecipes_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/contrib/redisrecipes/aside"
	"github.com/joomcode/redispipe/contrib/redisrecipes/limit"
	"github.com/joomcode/redispipe/contrib/redisrecipes/lock"
	"github.com/joomcode/redispipe/contrib/redisrecipes/once"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache"
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

// WriteReport lets one process at a time work on the report.
func WriteReport(ctx context.Context, locker *lock.Locker, work func(ctx context.Context, token int64) error) error {
	l, err := locker.Lock(ctx, "report")
	if err != nil {
		return err
	}
	err = work(l.Context(), l.Token())
	return errors.Join(err, l.Unlock(ctx))
}

// saveReport writes a report, unless a holder with a greater token has written one.
var saveReport = redis.NewScript(`
if tonumber(redis.call('HGET', KEYS[1], 'token') or 0) > tonumber(ARGV[1]) then return 0 end
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'text', ARGV[2])
return 1
`)

// NewFairLocker returns a locker whose callers get a lock in the order in which they came.
func NewFairLocker(db *redispipe.Client) (*lock.Locker, error) {
	locker, err := lock.New(db, lock.Opts{Fair: true})
	return locker, err
}

var _ = NewFairLocker

func Example_lock() {
	db, end := opened()
	defer end()
	ctx := context.Background()

	locker, err := lock.New(db, lock.Opts{TTL: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	err = WriteReport(ctx, locker, func(ctx context.Context, token int64) error {
		saved, err := redis.As[bool](saveReport.Do(ctx, db, []string{"report"}, token, "all is well"))
		fmt.Println(saved, err)
		_, err = locker.TryLock(ctx, "report")
		fmt.Println(err)
		return nil
	})
	fmt.Println(err)
	// Output:
	// true <nil>
	// lock: another caller holds it
	// <nil>
}

func Example_once() {
	db, end := opened()
	defer end()
	ctx := context.Background()
	charge := func(context.Context, string) ([]byte, error) {
		fmt.Println("charged")
		return []byte("receipt 1"), nil
	}

	runner, err := once.New(db, once.Opts{Lease: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	pay := func(ctx context.Context, id string) ([]byte, error) {
		receipt, err := runner.Do(ctx, "payment:"+id, 24*time.Hour, func(ctx context.Context) ([]byte, error) {
			return charge(ctx, id)
		})
		if errors.Is(err, once.ErrNotStored) {
			log.Print(err) // charged, and a repeat may charge again
			return receipt, nil
		}
		return receipt, err
	}
	for range 2 {
		receipt, err := pay(ctx, "42")
		fmt.Println(string(receipt), err)
	}
	// Output:
	// charged
	// receipt 1 <nil>
	// receipt 1 <nil>
}

func Example_aside() {
	db, end := opened()
	defer end()
	ctx := context.Background()
	render := func(_ context.Context, name string) ([]byte, error) {
		fmt.Println("rendered")
		return []byte("<html>" + name), nil
	}

	pages, err := aside.New(db, aside.Opts{TTL: 10 * time.Minute, RefreshAfter: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	name := "news"
	for range 2 {
		page, err := pages.Get(ctx, "page:"+name, func(ctx context.Context) ([]byte, error) {
			return render(ctx, name)
		})
		fmt.Println(string(page), err)
	}
	fmt.Println(pages.Delete(ctx, "page:"+name))
	// Output:
	// rendered
	// <html>news <nil>
	// <html>news <nil>
	// <nil>
}

// NewPagesInMemory returns a cache of pages whose first level is the memory of the process.
func NewPagesInMemory(db *redispipe.Client) (*aside.Cache, error) {
	memory, err := rediscache.New(db, rediscache.Opts{Prefixes: []string{"aside:"}, MaxAge: time.Minute})
	if err != nil {
		return nil, err
	}
	return aside.New(db, aside.Opts{TTL: 10 * time.Minute, Memory: memory})
}

var _ = NewPagesInMemory
