package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/joomcode/redispipe/rediscache"
	"github.com/joomcode/redispipe/redisvirtual"
	"github.com/joomcode/redispipe/testbed"
)

// feature is something that a client can do. run returns an error if it did not work.
type feature struct {
	name string
	run  func(context.Context, *trial) error
	// fits reports whether the feature makes sense for a proxy and a client. nil means that it
	// always does.
	fits   func(*proxy, kind) bool
	tune   func(*target)
	behind group // the feature is tried only with such a group, and only such features are tried with the group
	long   bool  // something is killed every 10 s, for as long as flag -long says, or half a minute; others last 10 s
}

var features = []feature{
	{name: "connect, PING", run: ping},
	{name: "GET and SET of 64 goroutines", run: identities},
	{name: "1,000 requests at once", run: many},
	{name: "transactions", run: func(ctx context.Context, t *trial) error { return transactions(ctx, t, 1) }},
	{name: "transactions beside GETs", run: beside},
	{name: "scripts", run: scripts},
	{name: "blocking commands", run: blocking},
	{name: "SCAN of 500 keys", run: scan},
	{name: "MGET of a string, a list and nothing", run: mget},
	{name: "160 increments with WATCH", run: watch},
	{name: "Pub/Sub", run: pubSub},
	{name: "idle for longer than the proxy allows", run: idle, fits: closesIdle, tune: func(to *target) { to.heartbeat = time.Minute }},
	{name: "cache", run: cached, fits: own},
	{name: "virtual connections", run: virtual, fits: own},
	{name: "Shutdown under load", run: shutdown, fits: own},
	{name: "failover, redis://", run: failover, behind: roles},
	{name: "failover, redis-replicated://", run: failover, behind: roles, tune: func(to *target) { to.role = true }},
	{name: "master killed, one address for all sentinels", run: masterKilled, behind: sentinels, tune: inFront},
	{name: "master killed, an address for each sentinel", run: masterKilled, behind: sentinels, tune: inFrontOfEach},
	{name: "… after an idle time", run: idleSentinels, behind: sentinels, tune: idleInFront},
	{name: "graceful failover every 10 s", run: gracefulFailover, behind: sentinels, tune: inFront, long: true},
	{name: "server killed every 10 s", run: killServer, fits: hasServers, long: true},
	{name: "proxy killed every 10 s", run: killProxy, fits: hasServers, long: true},
}

// within returns how long the feature may take.
func (f feature) within(faults time.Duration) time.Duration {
	if f.long {
		return faults + 20*time.Second
	}
	if f.behind == sentinels {
		return time.Minute
	}
	return 10 * time.Second
}

func own(_ *proxy, k kind) bool        { return k.name == "redispipe" }
func hasServers(p *proxy, _ kind) bool { return p.servers > 0 && p.command != nil }
func closesIdle(p *proxy, _ kind) bool { return p.idle }

// trial is a feature that is being tried.
type trial struct {
	stage  *stage
	kind   kind
	client client
	faults time.Duration
	prefix string
	note   string // a remark for the table
}

func (t *trial) key(of ...any) string { return t.prefix + fmt.Sprint(of...) }

// each runs f in n goroutines, and returns their first error.
func each(n int, f func(i int) error) error {
	var all sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		all.Go(func() { errs[i] = f(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func ping(ctx context.Context, t *trial) error {
	got, err := t.client.do(ctx, "PING")
	if err == nil && got != "PONG" {
		err = fmt.Errorf("PING was answered with %v", got)
	}
	return err
}

// expect sends a request, and returns an error unless the result is want.
func (t *trial) expect(ctx context.Context, want any, args ...any) error {
	got, err := t.client.do(ctx, args...)
	if err == nil && got != want {
		err = fmt.Errorf("%v returned %v instead of %v", args[0], got, want)
	}
	return err
}

// identities: each goroutine reads the values that it has written.
func identities(ctx context.Context, t *trial) error {
	return each(64, func(i int) error {
		for n := range 100 {
			value := fmt.Sprint(i, " ", n)
			if err := t.expect(ctx, "OK", "SET", t.key(i), value); err != nil {
				return err
			}
			if err := t.expect(ctx, value, "GET", t.key(i)); err != nil {
				return err
			}
		}
		return nil
	})
}

func many(ctx context.Context, t *trial) error {
	var sets, gets [][]any
	for i := range 1000 {
		sets, gets = append(sets, []any{"SET", t.key(i), i}), append(gets, []any{"GET", t.key(i)})
	}
	if _, err := t.client.many(ctx, sets); err != nil {
		return err
	}
	got, err := t.client.many(ctx, gets)
	for i, el := range got {
		if el != fmt.Sprint(i) {
			return fmt.Errorf("key %d is %v", i, el)
		}
	}
	return err
}

// transactions: two counters that are incremented in a transaction are always equal.
func transactions(ctx context.Context, t *trial, callers int) error {
	return each(callers, func(i int) error {
		one, two := t.key("{", i, "}1"), t.key("{", i, "}2")
		for n := range 50 {
			got, err := t.client.transact(ctx, [][]any{{"INCR", one}, {"INCR", two}})
			if err != nil {
				return err
			}
			if len(got) != 2 || got[0] != int64(n+1) || got[1] != int64(n+1) {
				return fmt.Errorf("transaction %d returned %v", n+1, got)
			}
		}
		return nil
	})
}

// beside: keys that a transaction replaces exist all the time for other readers.
func beside(ctx context.Context, t *trial) error {
	for i := range 16 {
		if err := t.expect(ctx, "OK", "SET", t.key(i), i); err != nil {
			return err
		}
	}
	var wrong, done atomic.Int64
	ended := make(chan struct{})
	var gets sync.WaitGroup
	for i := range 16 {
		gets.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
				}
				done.Add(1)
				if t.expect(ctx, fmt.Sprint(i), "GET", t.key(i)) != nil {
					wrong.Add(1)
				}
			}
		})
	}
	err := transactions(ctx, t, 4)
	close(ended)
	gets.Wait()
	if wrong.Load() > 0 {
		err = errors.Join(err, fmt.Errorf("%d %% of the GETs failed or were wrong", max(1, 100*wrong.Load()/done.Load())))
	}
	return err
}

func scripts(ctx context.Context, t *trial) error {
	for n := range 3 {
		got, err := t.client.script(ctx, "return redis.call('INCRBY', KEYS[1], ARGV[1])", t.key(), 5)
		if err != nil {
			return err
		}
		if got != int64(5*(n+1)) {
			return fmt.Errorf("the script returned %v", got)
		}
	}
	return nil
}

// blocking: an element arrives while a command waits for it.
func blocking(ctx context.Context, t *trial) error {
	done := make(chan error, 1)
	go func() {
		got, err := t.client.pop(ctx, t.key(), 5)
		if list, ok := got.([]any); err == nil && (!ok || len(list) != 2 || list[1] != "element") {
			err = fmt.Errorf("BLPOP returned %v", got)
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(500 * time.Millisecond):
	}
	if _, err := t.client.do(ctx, "LPUSH", t.key(), "element"); err != nil {
		return err
	}
	return <-done
}

func scan(ctx context.Context, t *trial) error {
	for i := range 500 {
		if err := t.expect(ctx, "OK", "SET", t.key(i), i); err != nil {
			return err
		}
	}
	found := map[any]bool{}
	for cursor := any("0"); ; {
		got, err := t.client.do(ctx, "SCAN", cursor, "MATCH", t.key("*"), "COUNT", 100)
		if err != nil {
			return err
		}
		page, ok := got.([]any)
		if !ok || len(page) != 2 {
			return fmt.Errorf("SCAN returned %v", got)
		}
		for _, key := range page[1].([]any) {
			found[key] = true
		}
		if cursor = page[0]; cursor == "0" {
			break
		}
	}
	if len(found) != 500 {
		return fmt.Errorf("%d of 500 keys were found", len(found))
	}
	return nil
}

// mget: a value that is not a string is null.
func mget(ctx context.Context, t *trial) error {
	for _, args := range [][]any{{"SET", t.key(1), "v"}, {"RPUSH", t.key(2), "v"}} {
		if _, err := t.client.do(ctx, args...); err != nil {
			return err
		}
	}
	got, err := t.client.do(ctx, "MGET", t.key(1), t.key(2), t.key(3))
	if err != nil {
		return err
	}
	if want := []any{"v", nil, nil}; !reflect.DeepEqual(got, want) {
		return fmt.Errorf("MGET returned %v", got)
	}
	return nil
}

// watch: no increment is lost when many callers use WATCH.
func watch(ctx context.Context, t *trial) error {
	if err := t.expect(ctx, "OK", "SET", t.key(), 0); err != nil {
		return err
	}
	if err := each(8, func(int) error {
		for range 20 {
			if err := t.client.increment(ctx, t.key()); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	got, err := t.client.do(ctx, "GET", t.key())
	if err == nil && got != "160" {
		err = fmt.Errorf("160 increments succeeded, %v were counted", got)
	}
	return err
}

func pubSub(ctx context.Context, t *trial) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	messages := make(chan string, 100)
	if err := t.client.subscribe(ctx, t.key(), func(m string) { messages <- m }); err != nil {
		return err
	}
	for i := range 100 {
		if _, err := t.client.do(ctx, "PUBLISH", t.key(), i); err != nil {
			return err
		}
	}
	for i := range 100 {
		select {
		case m := <-messages:
			if m != fmt.Sprint(i) {
				return fmt.Errorf("message %s came instead of %d", m, i)
			}
		case <-ctx.Done():
			return fmt.Errorf("%d of 100 messages came", i)
		}
	}
	return nil
}

// failover: the master and its replica change roles while requests are sent.
func failover(ctx context.Context, t *trial) error {
	one, two := t.stage.servers[0], t.stage.servers[1]
	if err := lead(one, two); err != nil {
		return err
	}
	if err := t.succeeds(ctx, 5*time.Second); err != nil {
		return err
	}
	if err := lead(two, one); err != nil {
		return err
	}
	began := time.Now()
	err := t.succeeds(ctx, 5*time.Second)
	t.note = fmt.Sprintf("after %d ms", time.Since(began).Milliseconds())
	return err
}

// lead makes one server the master of another.
func lead(master, replica *testbed.Server) error {
	host, port, err := net.SplitHostPort(master.Addr())
	if err != nil {
		return err
	}
	for server, args := range map[*testbed.Server][]any{master: {"NO", "ONE"}, replica: {host, port}} {
		if err, failed := server.Do("REPLICAOF", args...).(error); failed {
			return err
		}
	}
	return nil
}

// succeeds repeats a write until it succeeds.
func (t *trial) succeeds(ctx context.Context, within time.Duration) error {
	for end := time.Now().Add(within); ; time.Sleep(5 * time.Millisecond) {
		attempt, cancel := context.WithTimeout(ctx, time.Second)
		_, err := t.client.do(attempt, "SET", t.key(), "v")
		cancel()
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}

// idle: a request works after a pause in which the proxy has closed the connection.
func idle(ctx context.Context, t *trial) error {
	if err := t.expect(ctx, "OK", "SET", t.key(), "v"); err != nil {
		return err
	}
	time.Sleep(2500 * time.Millisecond)
	return t.expect(ctx, "OK", "SET", t.key(), "v")
}

// cached: a key is read from memory, until another client changes it.
func cached(ctx context.Context, t *trial) error {
	c := t.client.(pipe)
	cache, err := rediscache.New(c.Client, rediscache.Opts{Prefixes: []string{t.prefix}})
	if err != nil {
		return err
	}
	defer cache.Close()
	if err := t.expect(ctx, "OK", "SET", t.key(), 1); err != nil {
		return err
	}
	read := func(until func(got string) bool) bool {
		for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
			var got string
			if err = cache.DoInto(ctx, &got, "GET", t.key()); err != nil || until(got) {
				return err == nil
			}
		}
		return false
	}
	if !read(func(string) bool { return cache.Stats().Hits > 0 }) {
		t.note = "keeps nothing"
		return err
	}
	if err := t.expect(ctx, "OK", "SET", t.key(), 2); err != nil {
		return err
	}
	if !read(func(got string) bool { return got == "2" }) {
		return errors.Join(err, errors.New("the old value was served for 2 s"))
	}
	return nil
}

// virtual: go-redis works over a virtual connection of this library.
func virtual(ctx context.Context, t *trial) error {
	g := goRedis{redis.NewClient(&redis.Options{Addr: t.stage.addr, Dialer: redisvirtual.Dialer(t.client.(pipe).Client)})}
	defer g.close()
	over := *t
	over.client = g
	return errors.Join(identities(ctx, &over), many(ctx, &over))
}

// shutdown: all requests that were sent before Shutdown are answered.
func shutdown(ctx context.Context, t *trial) error {
	c := t.client.(pipe)
	var lost atomic.Int64
	var load sync.WaitGroup
	begun := make(chan struct{}, 16)
	for i := range 16 {
		load.Go(func() {
			for n := 0; ; n++ {
				_, err := c.do(ctx, "INCR", t.key(i))
				if of := c.outcome(err); of == notSent {
					return
				} else if of == unknown {
					lost.Add(1)
				}
				if n == 10 {
					begun <- struct{}{}
				}
			}
		})
	}
	for range 16 {
		<-begun
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	err := c.Shutdown(ctx)
	load.Wait()
	if lost.Load() > 0 {
		err = errors.Join(err, fmt.Errorf("%d requests were not answered", lost.Load()))
	}
	return err
}
