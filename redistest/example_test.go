package redistest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest"
	"github.com/joomcode/redispipe/redistest/memserver"
)

// Names is the code under test: it reads a user's name, and retries if that is safe.
type Names struct {
	DB redis.SyncCtx
}

var errNoUser = errors.New("no such user")

func (n Names) Of(ctx context.Context, user string) (string, error) {
	var name string
	err := n.DB.DoInto(ctx, &name, "GET", "user:"+user)
	if redis.SafeToRetry(err) {
		err = n.DB.DoInto(ctx, &name, "GET", "user:"+user)
	}
	if failure := redis.AsErrorx(err); failure != nil && failure.IsOfType(redis.ErrResponseNil) {
		return "", errNoUser
	}
	return name, err
}

func TestNames(t *testing.T) {
	mock := redistest.NewMock(t)
	names := Names{redis.SyncCtx{S: mock}}

	mock.Expect("GET", "user:1").NotSent()
	mock.Expect("GET", "user:1").Reply([]byte("Ann"))
	if name, err := names.Of(t.Context(), "1"); name != "Ann" || err != nil {
		t.Error(name, err)
	}
	mock.Expect("GET", "user:2").Reply(nil)
	if _, err := names.Of(t.Context(), "2"); err != errNoUser {
		t.Error(err)
	}
	mock.Expect("GET", "user:3").Unknown()
	if _, err := names.Of(t.Context(), "3"); err == nil {
		t.Error("what may have happened is not repeated")
	}
}

func TestNamesOnServer(t *testing.T) {
	server := memserver.New(t)
	conn, err := redisconn.Connect(t.Context(), server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	db := redis.SyncCtx{S: conn}
	db.Do(t.Context(), "SET", "user:1", "Ann", "EX", 60)
	if name, err := (Names{db}).Of(t.Context(), "1"); name != "Ann" || err != nil {
		t.Error(name, err)
	}
	server.Advance(time.Hour)
	if _, err := (Names{db}).Of(t.Context(), "1"); err != errNoUser {
		t.Error(err)
	}
}

func ExampleMock() {
	mock := redistest.NewMock(nil) // a test passes its t
	mock.Expect("GET", "user:1").Reply([]byte("Ann"))
	mock.Expect("INCR", "visits").NotSent()
	db := redis.Sync{S: mock}
	fmt.Printf("%s\n", db.Do("GET", "user:1"))
	fmt.Println(redis.OutcomeOf(db.Do("INCR", "visits")))
	mock.Verify()
	// Output:
	// Ann
	// not sent
}

func ExampleMock_AnyOrder() {
	mock := redistest.NewMock(nil).AnyOrder()
	mock.Expect("INCR", redistest.Any).AnyTimes().ReplyFunc(func(r redis.Request) any {
		return len(r.Args[0].(string))
	})
	mock.Expect("PING").Reply("PONG")
	fmt.Println(redis.Sync{S: mock}.SendMany([]redis.Request{
		redis.Req("INCR", "a"), redis.Req("PING"), redis.Req("INCR", "bcd"),
	}))
	// Output: [1 PONG 3]
}

func ExampleMock_ExpectTransaction() {
	mock := redistest.NewMock(nil)
	transfer := []redis.Request{redis.Req("DECR", "a"), redis.Req("INCR", "b")}
	mock.ExpectTransaction(transfer...).Reply([]any{4, 6})
	mock.ExpectTransaction(transfer...).Unknown()
	db := redis.Sync{S: mock}
	fmt.Println(db.SendTransaction(transfer))
	_, err := db.SendTransaction(transfer)
	fmt.Println(redis.OutcomeOf(err))
	// Output:
	// [4 6] <nil>
	// unknown
}

func ExampleMock_ExpectScan() {
	mock := redistest.NewMock(nil)
	mock.ExpectScan(redis.ScanOpts{Match: "user:*"}, []string{"user:1", "user:2"}, []string{"user:3"})
	it := redis.Sync{S: mock}.Scanner(redis.ScanOpts{Match: "user:*"})
	for {
		keys, err := it.Next()
		if err != nil {
			fmt.Println(err == redis.ScanEOF)
			return
		}
		fmt.Println(keys)
	}
	// Output:
	// [user:1 user:2]
	// [user:3]
	// true
}

func ExampleRecorder() {
	server, err := memserver.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	conn, err := redisconn.Connect(context.Background(), server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	rec := redistest.NewRecorder(conn)
	db := redis.Sync{S: rec}
	db.Do("SET", "k", 1)
	db.Do("GET", "k")
	fmt.Println(rec.Requests())
	// Output: [[SET k 1] [GET k]]
}
