package redispipe_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"testing"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// Visits is a part of a service that keeps its data in Redis.
type Visits struct {
	DB redis.SyncCtx
}

// Count adds a visit of a page and returns how many there were.
func (v Visits) Count(ctx context.Context, page string) (int64, error) {
	var n int64
	err := v.DB.DoInto(ctx, &n, "HINCRBY", "visits", page, 1)
	return n, err
}

// All returns the visits of all pages.
func (v Visits) All(ctx context.Context) (map[string]int64, error) {
	return redis.As[map[string]int64](v.DB.Do(ctx, "HGETALL", "visits"))
}

func Example() {
	s, err := testbed.Start(testbed.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	addr := s.Addr()

	ctx := context.Background()
	conn, err := redisconn.Connect(ctx, addr, redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	visits := Visits{DB: redis.SyncCtx{S: conn}}

	// In a handler, which may run in thousands of goroutines at once: their requests
	// share the connection, and form batches by themselves. The deadline of its
	// context holds, whatever the server does.
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	n, err := visits.Count(ctx, "home")

	fmt.Println(n, err)
	fmt.Println(visits.All(ctx))
	// Output:
	// 1 <nil>
	// map[home:1] <nil>
}

func Example_results() {
	s, err := testbed.Start(testbed.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	conn, err := redisconn.Connect(ctx, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	db := redis.SyncCtx{S: conn}

	res := db.Do(ctx, "SET", "key", "value", "EX", 60)
	if err := redis.AsError(res); err != nil {
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

	// Several requests in one batch, with a result for each.
	for _, res := range db.SendMany(ctx, []redis.Request{
		redis.Req("INCR", "counter"),
		redis.Req("INCRBY", "counter", 10),
	}) {
		fmt.Println(res)
	}

	// All or nothing.
	results, err := db.SendTransaction(ctx, []redis.Request{
		redis.Req("SET", "a", 1),
		redis.Req("INCR", "a"),
	})
	fmt.Println(results, err)

	// All keys of a pattern.
	for it := db.Scanner(ctx, redis.ScanOpts{Match: "count*"}); ; {
		keys, err := it.Next()
		if err == redis.ScanEOF {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		for _, key := range keys {
			fmt.Println(key)
		}
	}
	// Output:
	// value
	// 1
	// 11
	// [OK 2] <nil>
	// counter
}

// User is what a service keeps in a hash.
type User struct {
	Name  string        `redis:"name"`
	Age   uint8         `redis:"age"`
	Mail  *string       `redis:"mail"`            // nil: there is none
	Title string        `redis:"title,omitempty"` // left out when empty
	Seen  time.Time     `redis:"seen,unix"`
	Quota time.Duration `redis:"quota,ms"`
}

func Example_structs() {
	s, err := testbed.Start(testbed.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	conn, err := redisconn.Connect(ctx, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	db := redis.SyncCtx{S: conn}

	ann := User{Name: "Ann", Age: 30, Seen: time.Unix(1700000000, 0), Quota: time.Second}
	res := db.Do(ctx, "HSET", redis.Args("user:1", &ann)...)
	if err := redis.AsError(res); err != nil {
		log.Fatal(err)
	}
	var user User
	if err := db.DoInto(ctx, &user, "HGETALL", "user:1"); err != nil {
		log.Fatal(err) // redis.ErrResponseNil: no such user, or a field is missing
	}
	fmt.Println(user.Name, user.Age, user.Mail, user.Seen, user.Quota)

	// Only some of the fields, which is all that this struct has.
	var brief struct {
		Name string `redis:"name"`
	}
	fmt.Println(db.DoInto(ctx, &brief, "HMGET", "user:1", "name"), brief.Name)

	// A *User is nil for a key that is not there.
	nobody, err := redis.As[*User](db.Do(ctx, "HGETALL", "user:2"))
	fmt.Println(nobody, err)

	// Nothing is cut or zeroed silently.
	db.Do(ctx, "HSET", "user:1", "age", 256)
	err = db.DoInto(ctx, &user, "HGETALL", "user:1")
	fmt.Println(redis.AsErrorx(err).Message())
	// Output:
	// Ann 30 <nil> 2023-11-14 22:13:20 +0000 UTC 1s
	// <nil> Ann
	// <nil> <nil>
	// field Age of redispipe_test.User (tag `redis:"age"`): the reply is out of the range of uint8
}

func Example_typed() {
	s, err := testbed.Start(testbed.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	conn, err := redisconn.Connect(ctx, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	db := redis.SyncCtx{S: conn}

	// A leaderboard.
	players := []redis.Scored[string]{{Member: "ann", Score: 3}, {Member: "bob", Score: 5}}
	db.Do(ctx, "ZADD", redis.Args("board", players)...)
	top, err := redis.As[[]redis.Scored[string]](db.Do(ctx, "ZRANGE", "board", 0, 9, "REV", "WITHSCORES"))
	fmt.Println(top, err)

	// A stream.
	db.Do(ctx, "XADD", redis.Args("visits", "1-0", map[string]int{"page": 7})...)
	visits, err := redis.As[[]redis.Entry[map[string]int]](db.Do(ctx, "XRANGE", "visits", "-", "+"))
	fmt.Println(visits, err)

	// Null is a nil pointer; time needs a unit.
	db.Do(ctx, "SET", redis.Args("a", 1, "EX", redis.Seconds(time.Minute))...)
	numbers, err := redis.As[[]*int](db.Do(ctx, "MGET", "a", "b"))
	fmt.Println(*numbers[0], numbers[1], err)
	ttl, err := redis.As[redis.Seconds](db.Do(ctx, "TTL", "a"))
	fmt.Println(time.Duration(ttl), err)

	// The results of several requests, each with an error of its own.
	var count int
	var name string
	reqs := []redis.Request{redis.Req("INCR", "a"), redis.Req("GET", "b")}
	err = redis.Collect(reqs, db.SendMany(ctx, reqs), &count, &name)
	var failed *redis.BatchError
	if errors.As(err, &failed) {
		fmt.Println(count, failed.Errors[0], redis.AsErrorx(failed.Errors[1]).Message())
	}
	// Output:
	// [{bob 5} {ann 3}] <nil>
	// [{1-0 map[page:7]}] <nil>
	// 1 <nil> <nil>
	// 1m0s <nil>
	// 2 <nil> null can't be read as string
}

func Example_iterators() {
	s, err := testbed.Start(testbed.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	conn, err := redisconn.Connect(ctx, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	db := redis.SyncCtx{S: conn}
	db.Do(ctx, "HSET", "visits", "home", 3)
	db.Do(ctx, "ZADD", "board", 5, "bob")

	for key, err := range redis.Keys(ctx, conn, redis.ScanOpts{Match: "v*"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(key)
	}
	for field, err := range redis.Fields[int](ctx, conn, redis.ScanOpts{Key: "visits"}) {
		fmt.Println(field.Name, field.Value+1, err)
	}
	for player, err := range redis.ScoredMembers[string](ctx, conn, redis.ScanOpts{Key: "board"}) {
		fmt.Println(player.Member, player.Score, err)
	}
	// Output:
	// visits
	// home 4 <nil>
	// bob 5 <nil>
}

// take takes so many from a stock, if there are as many.
var take = redis.NewScript(`
	local left = tonumber(redis.call('GET', KEYS[1]) or '0')
	if left < tonumber(ARGV[1]) then return -1 end
	return redis.call('DECRBY', KEYS[1], ARGV[1])`)

func Example_scripts() {
	conn, end := connected()
	defer end()
	ctx := context.Background()
	redis.Sync{S: conn}.Do("SET", "stock", 6)

	left, err := redis.As[int64](take.Do(ctx, conn, []string{"stock"}, 2))
	if err != nil {
		log.Fatal(err)
	}

	// In batches and transactions, through a Sender that knows the script.
	db := redis.SyncCtx{S: redis.WithScripts(conn, take)}
	results, err := db.SendTransaction(ctx, []redis.Request{
		take.Request([]string{"stock"}, 2), // with its body
		take.Request([]string{"stock"}, 3), // by its hash
	})

	fmt.Println(left, results, err)
	// Output: 4 [2 -1] <nil>
}

func TestFunctionsExample(t *testing.T) {
	testbed.Needs(t, testbed.Version(7, 0))
	conn, end := connected()
	defer end()
	ctx := t.Context()

	stocks := redis.NewLibrary(`#!lua name=stocks
		redis.register_function('add', function(keys, args)
			return redis.call('INCRBY', keys[1], args[1])
		end)`)
	if err := stocks.Load(ctx, conn); err != nil {
		log.Fatal(err)
	}
	add := stocks.Function("add")
	n, err := redis.As[int64](add.Do(ctx, conn, []string{"stock"}, 10))

	if n != 10 || err != nil {
		t.Error(n, err)
	}
}

// Order is what a stream of orders holds.
type Order struct {
	Item  string `redis:"item"`
	Count int    `redis:"count"`
}

func Example_group() {
	conn, end := connected()
	defer end()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	db := redis.SyncCtx{S: conn}
	db.Do(ctx, "XADD", redis.Args("orders", "*", Order{"book", 2})...)
	db.Do(ctx, "XADD", redis.Args("orders", "*", Order{"pen", 10})...)

	work := func(order Order) {
		fmt.Println(order.Item, order.Count)
		if order.Item == "pen" {
			cancel() // the last one
		}
	}
	reader, err := redis.NewGroupReader(conn, redis.GroupOpts{
		Stream: "orders", Group: "billing", Consumer: "billing-1",
		MaxDeliveries: 5,
		DeadLetter: func(ctx context.Context, msg redis.Message) error {
			return redis.AsError(db.Do(ctx, "RPUSH", "orders:dead", msg.ID))
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	for msg, err := range reader.Messages(ctx) {
		if err != nil {
			log.Print(err) // the reader goes on
			continue
		}
		order, err := redis.As[Order](msg.Fields)
		if err != nil {
			log.Print(err) // not acknowledged: it comes again, and then goes to DeadLetter
			continue
		}
		work(order)
		if err := reader.Ack(msg.ID); err != nil {
			log.Fatal(err)
		}
	}
	pending, err := redis.As[[]any](redis.Sync{S: conn}.Do("XPENDING", "orders", "billing"))
	fmt.Println(pending[0], err)
	// Output:
	// book 2
	// pen 10
	// 0 <nil>
}

// connected starts a server, and connects to it.
func connected() (conn *redisconn.Connection, end func()) {
	s, err := testbed.Start(testbed.Options{})
	if err != nil {
		log.Fatal(err)
	}
	conn, err = redisconn.Connect(context.Background(), s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	return conn, func() {
		conn.Close()
		s.Close()
	}
}

func Example_blocking() {
	ctx, cancel := context.WithCancel(context.Background())
	conn, end := connected()
	defer end()
	client := redis.SyncCtx{S: conn}
	work := func(job string) {
		fmt.Println(job)
		cancel()
	}
	worker := func() error {
		for {
			var job []string
			err := client.DoInto(ctx, &job, "BLPOP", "jobs", 0)
			if err != nil {
				return err // ctx has ended, for one
			}
			work(job[1])
		}
	}
	client.Do(ctx, "RPUSH", "jobs", "paint")
	fmt.Println(redis.OutcomeOf(worker()))
	// Output:
	// paint
	// not sent
}

func Example_sessions() {
	ctx := context.Background()
	conn, end := connected()
	defer end()
	redis.SyncCtx{S: conn}.Do(ctx, "SET", "balance", 100)
	results, err := redis.Watch(ctx, conn, []string{"balance"}, func(tx *redis.Tx) error {
		var balance int64
		if err := tx.DoInto(&balance, "GET", "balance"); err != nil {
			return err
		}
		tx.Queue("SET", "balance", balance-30)
		return nil
	})
	fmt.Println(results, err)

	// On one server no key is needed; in a cluster it is one of the node to be used.
	err = redis.WithSession(ctx, conn, "", func(session *redis.Session) error {
		session.Do("SELECT", 1)
		return redis.AsError(session.Do("SET", "balance", 5))
	})
	fmt.Println(err)
	fmt.Printf("%s\n", redis.SyncCtx{S: conn}.Do(ctx, "GET", "balance"))
	// Output:
	// [OK] <nil>
	// <nil>
	// 70
}

func Example_stream() {
	s, err := testbed.Start(testbed.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	conn, err := redisconn.Connect(ctx, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	db := redis.SyncCtx{S: conn}
	db.Do(ctx, "SET", "film", "a long one")
	w := os.Stdout

	n := conn.DoStream(ctx, w, "GET", "film")
	if err := redis.AsError(n); err != nil {
		log.Fatal(err)
	}
	fmt.Println(":", n, "bytes")
	// Output: a long one: 10 bytes
}

func Example_outcome() {
	for _, res := range []any{
		"OK",
		redis.ErrLoading.New("LOADING Redis is loading the dataset in memory"),
		redis.ErrQueueFull.New("full"),
		redis.ErrIO.New("broken"),
	} {
		fmt.Println(redis.OutcomeOf(res), redis.SafeToRetry(redis.AsError(res)))
	}
	// Output:
	// value false
	// refused true
	// not sent true
	// unknown false
}

func clusterOf(ctx context.Context, addrs []string) error {
	cluster, err := rediscluster.NewCluster(ctx, addrs, rediscluster.Opts{})
	if err != nil {
		return err
	}
	defer cluster.Close()
	db := redis.SyncCtx{S: cluster}
	if err := redis.AsError(db.Do(ctx, "SET", "key", "value")); err != nil {
		return err
	}

	// Keys of several slots: MGET, MSET, DEL, UNLINK, EXISTS and TOUCH can be split.
	res := rediscluster.SendSplit(ctx, cluster, redis.Req("MGET", "key", "other"))
	if err := redis.AsError(res); err != nil {
		return err
	}

	// Reads that may be a little behind, from replicas where there are any.
	reads := redis.SyncCtx{S: cluster.WithPolicy(rediscluster.PreferSlaves)}
	_, err = redis.As[string](reads.Do(ctx, "GET", "key"))
	if err != nil {
		return err
	}
	return readByPolicies(ctx, cluster)
}

// readByPolicies shows each policy at its work.
func readByPolicies(ctx context.Context, cluster *rediscluster.Cluster) error {
	strict := redis.SyncCtx{S: cluster} // MasterOnly
	even := redis.SyncCtx{S: cluster.WithPolicy(rediscluster.MasterAndSlaves)}
	feeds := redis.SyncCtx{S: cluster.WithPolicy(rediscluster.PreferSlaves)}
	scripts := redis.SyncCtx{S: cluster.WithPolicy(rediscluster.ForceMasterAndSlaves)}
	reports := redis.SyncCtx{S: cluster.WithPolicy(rediscluster.ForcePreferSlaves)}

	for _, db := range []redis.SyncCtx{strict, even, feeds} {
		if err := redis.AsError(db.Do(ctx, "EXISTS", "key")); err != nil {
			return err
		}
	}
	for _, db := range []redis.SyncCtx{scripts, reports} {
		res := db.Do(ctx, "EVAL", "return redis.call('EXISTS', KEYS[1])", 1, "key")
		if err := redis.AsError(res); err != nil {
			return err
		}
	}
	return nil
}

func TestClusterExample(t *testing.T) {
	t.Parallel()
	tb := testbed.NewCluster(t)
	if err := clusterOf(t.Context(), tb.Addrs()); err != nil {
		t.Fatal(err)
	}
}
