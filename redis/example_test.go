package redis_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/joomcode/redispipe/redis"
)

// memory is a Sender without a server, so that the examples print always the
// same. A program has a redisconn.Connection or a rediscluster.Cluster instead.
type memory map[string]string

func (m memory) Send(r redis.Request, cb redis.Future, n uint64) {
	cb.Resolve(m.answer(r), n)
}

func (m memory) SendMany(reqs []redis.Request, cb redis.Future, start uint64) {
	for i, r := range reqs {
		cb.Resolve(m.answer(r), start+uint64(i))
	}
}

func (m memory) SendTransaction(reqs []redis.Request, cb redis.Future, start uint64) {
	results := make([]any, len(reqs))
	for i, r := range reqs {
		results[i] = m.answer(r)
	}
	cb.Resolve(results, start)
}

func (m memory) answer(r redis.Request) any {
	arg := func(i int) string {
		text, _ := redis.ArgToString(r.Args[i])
		return text
	}
	switch r.Cmd {
	case "SET":
		m[arg(0)] = arg(1)
		return "OK"
	case "GET":
		if value, ok := m[arg(0)]; ok {
			return []byte(value)
		}
		return nil
	case "INCR":
		return redis.ErrResult.New("ERR value is not an integer or out of range")
	case "SCAN":
		if arg(0) == "0" {
			return []any{[]byte("7"), []any{[]byte("key:1"), []byte("key:2")}}
		}
		return []any{[]byte("0"), []any{[]byte("key:3")}}
	}
	return redis.ErrResult.New("ERR unknown command '%s'", strings.ToLower(r.Cmd))
}

func (m memory) Scanner(opts redis.ScanOpts) redis.Scanner {
	return &scanner{redis.ScannerBase{ScanOpts: opts}, m}
}

func (m memory) EachShard(f func(redis.Sender, error) bool) { f(m, nil) }

func (m memory) Close() {}

type scanner struct {
	redis.ScannerBase
	sender redis.Sender
}

func (s *scanner) Next(cb redis.Future) {
	if s.Err != nil || s.IterLast() {
		cb.Resolve(redis.ScanEOF, 0)
		return
	}
	s.DoNext(cb, s.sender)
}

func ExampleSync() {
	sync := redis.Sync{S: memory{}}
	fmt.Println(sync.Do("SET", "greeting", "hello"))
	fmt.Printf("%s\n", sync.Do("GET", "greeting"))
	fmt.Println(sync.Do("GET", "nothing"))

	// An error is a result too.
	res := sync.Do("INCR", "greeting")
	if err := redis.AsErrorx(res); err != nil {
		fmt.Println(err.IsOfType(redis.ErrResult), err.Message())
	}
	// Output:
	// OK
	// hello
	// <nil>
	// true ERR value is not an integer or out of range
}

func ExampleSync_SendMany() {
	sync := redis.Sync{S: memory{}}
	for _, res := range sync.SendMany([]redis.Request{
		redis.Req("SET", "a", 1),
		redis.Req("INCR", "b"),
		redis.Req("GET", "a"),
	}) {
		if err := redis.AsErrorx(res); err != nil {
			fmt.Println("failed:", err.Message())
			continue
		}
		fmt.Printf("%s\n", res)
	}
	// Output:
	// OK
	// failed: ERR value is not an integer or out of range
	// 1
}

func ExampleSync_SendTransaction() {
	sync := redis.Sync{S: memory{}}
	results, err := sync.SendTransaction([]redis.Request{
		redis.Req("SET", "a", 1),
		redis.Req("GET", "a"),
	})
	if err != nil {
		fmt.Println(err) // none of them ran, or it is not known
		return
	}
	fmt.Printf("%s\n", results)
	// Output: [OK 1]
}

func ExampleSync_DoInto() {
	sync := redis.Sync{S: memory{"visits": "41"}}
	var visits int64
	if err := sync.DoInto(&visits, "GET", "visits"); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(visits + 1)
	// Output: 42
}

func ExampleSyncCtx() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	sync := redis.SyncCtx{S: memory{"greeting": "hello"}}
	fmt.Printf("%s\n", sync.Do(ctx, "GET", "greeting"))

	cancel()
	err := redis.AsErrorx(sync.Do(ctx, "SET", "greeting", "bye"))
	fmt.Println(err.IsOfType(redis.ErrRequestCancelled), err.HasTrait(redis.ErrTraitNotSent))
	// Output:
	// hello
	// true true
}

func ExampleChanFutured() {
	futured := redis.ChanFutured{S: memory{"a": "1", "b": "2"}}
	one := futured.Send(redis.Req("GET", "a"))
	many := futured.SendMany([]redis.Request{redis.Req("GET", "a"), redis.Req("GET", "b")})
	// There is time for something else here.
	fmt.Printf("%s\n", one.Value())
	for _, future := range many {
		<-future.Done()
		fmt.Printf("%s\n", future.Value())
	}
	// Output:
	// 1
	// 1
	// 2
}

func ExampleScanner() {
	it := redis.Sync{S: memory{}}.Scanner(redis.ScanOpts{Match: "key:*"})
	for {
		keys, err := it.Next()
		if err == redis.ScanEOF {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(keys)
	}
	// Output:
	// [key:1 key:2]
	// [key:3]
}

func ExampleAs() {
	sync := redis.Sync{S: memory{"visits": "41"}}
	visits, err := redis.As[int64](sync.Do("GET", "visits"))
	fmt.Println(visits, err)
	_, err = redis.As[int64](sync.Do("GET", "nothing"))
	fmt.Println(redis.AsErrorx(err).IsOfType(redis.ErrResponseNil))
	// Output:
	// 41 <nil>
	// true
}
