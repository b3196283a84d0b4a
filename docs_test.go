package redispipe_test

import (
	"context"
	"expvar"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/redistest"
	"github.com/joomcode/redispipe/redistest/memserver"
)

// What the package documentation shows, compiled.
var (
	_ = func(ctx context.Context, conn *redisconn.Connection, handle func(string, []byte),
		reload func([]redispubsub.Topic, time.Time, time.Time)) error {
		subscriber, err := redispubsub.New(conn, redispubsub.Opts{}) // or NewCluster(cluster, …)
		if err != nil {
			return err
		}
		defer subscriber.Close()
		sub := subscriber.NewSubscription(redispubsub.SubscriptionOpts{})
		if err := sub.Subscribe(ctx, redispubsub.Channel("news"), redispubsub.Pattern("user.*")); err != nil {
			return err // the server has confirmed all topics, or this says which it has not
		}
		for ev, err := range sub.Events(ctx) {
			if err != nil {
				return err
			}
			switch ev := ev.(type) {
			case redispubsub.Message:
				handle(ev.Channel, ev.Payload)
			case redispubsub.Gap:
				if !ev.Open() {
					reload(ev.Topics, ev.From, ev.To) // messages of these topics may be missing
				}
			}
		}
		return nil
	}
	_ = func(ctx context.Context) error {
		conn, err := redisconn.Connect(ctx, "127.0.0.1:6379", redisconn.Opts{})
		if err != nil {
			return err
		}
		defer conn.Close()
		client := redis.SyncCtx{S: conn}
		res := client.Do(ctx, "SET", "key", "value")
		if err := redis.AsError(res); err != nil {
			return err
		}
		return nil
	}
	_ = func(ctx context.Context, sender redis.Sender) error {
		client := redis.SyncCtx{S: sender} // of package redisconn or rediscluster
		res := client.Do(ctx, "GET", "key")
		if err := redis.AsError(res); err != nil {
			return err
		}
		return nil
	}
	_ = func(ctx context.Context) error {
		conn, err := redisconn.Connect(ctx, "127.0.0.1:6379", redisconn.Opts{})
		if err != nil {
			return err
		}
		defer conn.Close()
		res := redis.SyncCtx{S: conn}.Do(ctx, "INCR", "counter")
		return redis.AsError(res)
	}
	_ = func(ctx context.Context) error {
		cluster, err := rediscluster.NewCluster(ctx, []string{"10.0.0.1:7000", "10.0.0.2:7000"}, rediscluster.Opts{})
		if err != nil {
			return err
		}
		defer cluster.Close()
		res := redis.SyncCtx{S: cluster}.Do(ctx, "SET", "key", "value")
		return redis.AsError(res)
	}
	_ = func(ctx context.Context, password, sentinelPassword string) (*rediscluster.Cluster, error) {
		// A master that sentinels watch. One sentinel is enough: it tells the others.
		db, err := rediscluster.NewSentinel(ctx, []string{"10.0.0.1:26379"}, "mymaster", rediscluster.Opts{
			HostOpts:     redisconn.Opts{Username: "visits", Password: password},
			SentinelOpts: redisconn.Opts{Password: sentinelPassword},
		})
		return db, err
	}
	_ = func(ctx context.Context, password string) (*rediscluster.Cluster, error) {
		// Endpoints of a managed Redis: which is the master, they say themselves.
		db, err := rediscluster.NewReplicated(ctx, []string{"primary.example:6379", "reader.example:6379"}, rediscluster.Opts{
			HostOpts: redisconn.Opts{Password: password, TLSEnabled: true},
		})
		return db, err
	}
	_ = func(ctx context.Context, db redis.SyncCtx) {
		res := db.Do(ctx, "INCR", "counter")
		if redis.SafeToRetry(redis.AsError(res)) {
			res = db.Do(ctx, "INCR", "counter") // it did not run, and may do so this time
		}
		switch redis.OutcomeOf(res) {
		case redis.OutcomeValue: // it ran
		case redis.OutcomeRefused: // the server answered with an error
		case redis.OutcomeNotSent: // it did not run
		case redis.OutcomeUnknown: // it may have run
		}
	}
	_ = func(ctx context.Context, t *testing.T) (any, any) {
		mock := redistest.NewMock(t)
		mock.Expect("GET", "user:1").Reply([]byte("Ann"))
		mock.Expect("INCR", "visits").NotSent()
		db := redis.SyncCtx{S: mock}
		name := db.Do(ctx, "GET", "user:1")
		visits := db.Do(ctx, "INCR", "visits")
		return name, visits
	}
	_ = func(ctx context.Context, t *testing.T) (*redisconn.Connection, error) {
		server := memserver.New(t)
		conn, err := redisconn.Connect(ctx, server.Addr(), redisconn.Opts{})
		return conn, err
	}
	_ = func(ctx context.Context, conn *redisconn.Connection, reload func([]redispubsub.Topic)) error {
		subscriber, err := redispubsub.New(conn, redispubsub.Opts{})
		if err != nil {
			return err
		}
		defer subscriber.Close()
		sub := subscriber.NewSubscription(redispubsub.SubscriptionOpts{})
		if err := sub.Subscribe(ctx, redispubsub.Channel("news")); err != nil {
			return err
		}
		for ev, err := range sub.Events(ctx) {
			if err != nil {
				return err
			}
			switch ev := ev.(type) {
			case redispubsub.Message:
				fmt.Printf("%s: %s\n", ev.Channel, ev.Payload)
			case redispubsub.Gap:
				reload(ev.Topics) // messages may be missing
			}
		}
		return nil
	}
	_ = func(conn *redisconn.Connection, err error) {
		if delay, ok := redis.DelayOf(err); ok {
			log.Print(delay.Longest(), ": ", delay) // wire: queue 40µs, wire 999ms, … behind 12 requests of 300 bytes
		}
		expvar.Publish("redis", expvar.Func(func() any { return conn.Stats() }))
	}
	_ = func(cluster *rediscluster.Cluster) redis.SyncCtx {
		reads := redis.SyncCtx{S: cluster.WithPolicy(rediscluster.PreferSlaves)}
		return reads
	}
)

// TestDocs checks that every Go block of the documentation stands in a test or
// an example, line by line, so that it is compiled.
func TestDocs(t *testing.T) {
	migrations, err := filepath.Glob("internal/bench/migration/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, name := range append(migrations, "example_test.go", "docs_test.go",
		"redisconn/example_security_test.go", "redistest/example_test.go",
		"contrib/redisotel/example_test.go", "contrib/redisprom/example_test.go") {
		code.WriteString(squeeze(read(t, name)))
	}
	blocks := map[string][]string{}
	for _, name := range []string{"README.md", "docs/security.md", "docs/migration.md", "docs/operating.md"} {
		for _, block := range strings.Split(read(t, name), "```go\n")[1:] {
			block, _, _ = strings.Cut(block, "```")
			blocks[name] = append(blocks[name], block)
		}
	}
	for _, name := range []string{
		"doc.go", "redis/doc.go", "redisconn/doc.go", "rediscluster/doc.go", "redispubsub/doc.go",
		"redistest/doc.go", "redistest/memserver/memserver.go",
	} {
		for _, block := range regexp.MustCompile(`(?m)(^//\t.*\n)+`).FindAllString(read(t, name), -1) {
			if strings.Contains(block, ":=") { // else it is a table
				blocks[name] = append(blocks[name], strings.ReplaceAll(block, "//\t", ""))
			}
		}
	}
	if len(blocks) != 11 {
		t.Errorf("Go blocks in %d documents of 11", len(blocks))
	}
	for name, found := range blocks {
		for _, block := range found {
			if !strings.Contains(code.String(), squeeze(block)) {
				t.Errorf("%s: this block is compiled nowhere:\n%s", name, block)
			}
		}
	}
}

// TestDocLinks checks that what the documentation links to, or shows, is there.
func TestDocLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#: ]+)(#[^)]*)?\)`)
	code := regexp.MustCompile("(?s)```.*?```")
	for _, pattern := range []string{"*.md", "docs/*.md", "internal/bench/*.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d documents, %v", pattern, len(names), err)
		}
		for _, name := range names {
			for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(read(t, name), ""), -1) {
				if _, err := os.Stat(filepath.Join(filepath.Dir(name), m[1])); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// squeeze drops white space at the ends of lines, and empty lines.
func squeeze(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}
