package docs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/redistest/ledger"
	"github.com/joomcode/redispipe/redistest/memserver"
	"github.com/joomcode/redispipe/testbed"
)

// Names is the code under test: it reads a user's name, and retries once if
// that is safe.
type Names struct {
	DB redis.SyncCtx
}

var errNoUser = errors.New("no such user")

func (n Names) Of(ctx context.Context, user string) (string, error) {
	var name *string
	err := n.DB.DoInto(ctx, &name, "GET", "user:"+user)
	if redis.SafeToRetry(err) {
		err = n.DB.DoInto(ctx, &name, "GET", "user:"+user)
	}
	switch {
	case err != nil:
		return "", err
	case name == nil:
		return "", errNoUser
	}
	return *name, nil
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

func TestNamesInMemory(t *testing.T) {
	server := memserver.New(t)
	client, err := redispipe.Open(t.Context(), "redis://"+server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	names := Names{redis.SyncCtx{S: client}}
	names.DB.Do(t.Context(), "SET", "user:1", "Ann", "EX", 60)
	if name, err := names.Of(t.Context(), "1"); name != "Ann" || err != nil {
		t.Error(name, err)
	}
	server.Advance(time.Hour)
	if _, err := names.Of(t.Context(), "1"); err != errNoUser {
		t.Error(err)
	}
}

func TestNamesCached(t *testing.T) {
	server := memserver.New(t)
	invalidate := server.Track()
	client, err := redispipe.Open(t.Context(), "redis://"+server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	cache, err := rediscache.New(client, rediscache.Opts{Prefixes: []string{"user:"}})
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close() // also closes client
	for cache.Stats().Leases == 0 {
		time.Sleep(time.Millisecond) // the cache keeps nothing until its tracker is connected
	}

	names := Names{redis.SyncCtx{S: cache}}
	server.Miniredis().Set("user:1", "Ann")
	names.Of(t.Context(), "1")
	server.Miniredis().Set("user:1", "Bob") // as another client; the server does not report it yet
	if name, err := names.Of(t.Context(), "1"); name != "Ann" || err != nil {
		t.Error(name, err)
	}
	invalidate("user:1")
	for cache.Stats().Dropped.Invalidated == 0 {
		time.Sleep(time.Millisecond)
	}
	if name, err := names.Of(t.Context(), "1"); name != "Bob" || err != nil {
		t.Error(name, err)
	}
}

func TestNamesOnServer(t *testing.T) {
	server := testbed.NewServer(t)
	conn, err := redisconn.Connect(t.Context(), server.Addr(), redisconn.Opts{})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	names := Names{redis.SyncCtx{S: conn}}
	server.Pause() // SIGSTOP: it accepts connections and answers nothing
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := names.Of(ctx, "1"); !redis.CausedBy(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestChaos(t *testing.T) {
	server := memserver.New(t)
	proxy := chaos.NewProxy(t, server.Addr(), chaos.ProxyOpts{})
	client, err := redispipe.Open(t.Context(), "redis://"+proxy.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	proxy.Arm(chaos.ResetAfterExecution("visits"))
	res := client.Do(t.Context(), "INCR", "visits")
	if redis.OutcomeOf(res) != redis.OutcomeUnknown { // it ran, but the client can't know
		t.Error(res)
	}
	proxy.Arm(chaos.ReadOnly())
	if res = client.Do(t.Context(), "INCR", "visits"); redis.OutcomeOf(res) != redis.OutcomeRefused {
		t.Error(res)
	}
	proxy.Heal()
	if n, err := redis.As[int](client.Do(t.Context(), "INCR", "visits")); n != 2 || err != nil {
		t.Error(n, err)
	}
}

func TestLedger(t *testing.T) {
	server := memserver.New(t)
	proxy := chaos.NewProxy(t, server.Addr(), chaos.ProxyOpts{})
	client, err := redispipe.Open(t.Context(), "redis://"+proxy.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	proxy.Arm(chaos.ResetAfterExecution("RPUSH"))
	book := ledger.New("run1") // a name that no other ledger on this server has
	lists := ledger.NewLists(book)
	for range 100 {
		tag, id := lists.Issue("list1")
		var n int64
		err := client.DoInto(t.Context(), &n, "RPUSH", "list1", tag)
		switch redis.OutcomeOf(err) {
		case redis.OutcomeValue:
			book.End(id, ledger.Value, n) // an int64
		case redis.OutcomeRefused:
			book.End(id, ledger.ServerError, err)
		case redis.OutcomeNotSent:
			book.End(id, ledger.NotSent, err)
		case redis.OutcomeUnknown:
			book.End(id, ledger.Unknown, err)
		}
	}
	proxy.Heal()
	report := book.Finish(time.Minute) // at most as long for requests that have not ended
	// Miniredis reads the lists without the client. On a real server, use LRANGE over another connection.
	if err := lists.Verify(server.Miniredis().List); err != nil {
		t.Fatal(err)
	}
	if report.Failed() {
		t.Error(report)
	}
	if unknown := report.Outcomes(ledger.Unknown); unknown != 1 || report.Requests() != 100 {
		t.Error(report)
	}
}

// The server in memory is a cluster of one master.
func TestClusterInMemory(t *testing.T) {
	client, err := redispipe.Open(t.Context(), "redis-cluster://"+memserver.New(t).Addr(), redispipe.Logger(nil))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, key := range []string{"a", "b", "c"} {
		if res := client.Do(t.Context(), "SET", key, "x"); res != "OK" {
			t.Error(res)
		}
	}
	if err := redis.AsErrorx(client.Do(t.Context(), "MGET", "a", "b")); !err.IsOfType(redis.ErrNoSlotKey) {
		t.Error(err)
	}
}
