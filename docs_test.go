package redispipe_test

import (
	"context"
	"expvar"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/cmd"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/redisreply"
	"github.com/joomcode/redispipe/redistest"
	"github.com/joomcode/redispipe/redistest/memserver"
)

// The code in the package documentation, compiled.
var (
	_ = func(ctx context.Context) error {
		client, err := redispipe.Open(ctx, "redis://127.0.0.1:6379")
		if err != nil {
			return err
		}
		defer client.Close()
		if err := redis.Err(client.Do(ctx, "SET", "key", "value")); err != nil {
			return err
		}
		var value string
		err = client.DoInto(ctx, &value, "GET", "key")
		return err
	}
	_ = func(ctx context.Context, client *redispipe.Client) error {
		var slow []redisreply.SlowCommand
		err := client.DoInto(ctx, &slow, "SLOWLOG GET", 10)
		return err
	}
	_ = func(ctx context.Context, sender redis.Sender) error {
		client := redis.SyncCtx{S: sender} // of package redisconn or rediscluster
		res := client.Do(ctx, "GET", "key")
		if err := redis.Err(res); err != nil {
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
		return redis.Err(res)
	}
	_ = func(ctx context.Context) error {
		cluster, err := rediscluster.NewCluster(ctx, []string{"10.0.0.1:7000", "10.0.0.2:7000"}, rediscluster.Opts{})
		if err != nil {
			return err
		}
		defer cluster.Close()
		res := redis.SyncCtx{S: cluster}.Do(ctx, "SET", "key", "value")
		return redis.Err(res)
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
	_ = func(conn *redisconn.Connection, cluster *rediscluster.Cluster) {
		expvar.Publish("redis", expvar.Func(func() any { return conn.Stats() }))
		expvar.Publish("redis", expvar.Func(func() any { return cluster.Stats() }))
	}
	_ = func(ctx context.Context, client *redispipe.Client) error {
		cache, err := rediscache.New(client, rediscache.Opts{Prefixes: []string{"user:"}, MaxAge: time.Minute})
		if err != nil {
			return err
		}
		var name string
		err = cache.DoInto(ctx, &name, "GET", "user:1") // the second time from memory
		return err
	}
	//nolint:ineffassign,staticcheck // it shows calls, and no errors
	_ = func(ctx context.Context, db *redispipe.Client) (string, redisreply.Done, error) {
		type User struct{ Name string }
		var a int64
		var user User
		name, err := cmd.Get[string]("user:1").Do(ctx, db)
		ok, err := cmd.Set("k", "v", cmd.EX(time.Minute), cmd.NX).Do(ctx, db)
		err = redis.Batch(ctx, db, cmd.Incr("a").Into(&a), cmd.HGetAll[User]("user:1").Into(&user))
		return name, ok, err
	}
	_ = func(cluster *rediscluster.Cluster) redis.SyncCtx {
		reads := redis.SyncCtx{S: cluster.WithPolicy(rediscluster.PreferSlaves)}
		return reads
	}
)

// TestDocs checks that every line of each Go block in the documentation also stands, in order, in a
// test or an example, so that it is compiled.
func TestDocs(t *testing.T) {
	var code strings.Builder
	for _, name := range slices.Concat(files(t, "docs/*_test.go"), files(t, "internal/lab/bench/migration/*.go"),
		files(t, "internal/lab/virtualpeers/example_test.go"),
		files(t, "contrib/*/example_test.go"), []string{"example_test.go", "example_visits_test.go", "docs_test.go", "redisconn/example_security_test.go"}) {
		code.WriteString(squeeze(read(t, name)))
	}
	blocks := map[string][]string{}
	for _, name := range pages(t) {
		for _, block := range strings.Split(read(t, name), "```go\n")[1:] {
			block, _, _ = strings.Cut(block, "```")
			blocks[name] = append(blocks[name], block)
		}
	}
	for _, name := range []string{
		"doc.go", "redis/doc.go", "redisconn/doc.go", "rediscluster/doc.go", "redispubsub/doc.go",
		"redistest/doc.go", "redistest/memserver/memserver.go", "redisreply/doc.go", "rediscache/doc.go", "cmd/doc.go",
		"redisvirtual/doc.go", "redisfailover/doc.go", "redismirror/doc.go",
	} {
		for _, block := range regexp.MustCompile(`(?m)(^//\t.*\n)+`).FindAllString(read(t, name), -1) {
			if strings.Contains(block, ":=") { // otherwise the block is a table
				blocks[name] = append(blocks[name], strings.ReplaceAll(block, "//\t", ""))
			}
		}
	}
	if len(blocks) < 20 {
		t.Errorf("Go blocks in %d documents only", len(blocks))
	}
	for name, found := range blocks {
		for _, block := range found {
			if !strings.Contains(code.String(), squeeze(block)) {
				t.Errorf("%s: this block is compiled nowhere:\n%s", name, block)
			}
		}
	}
}

// TestDocLinks checks that everything that the documentation links to or shows exists: files, and
// headings of pages.
func TestDocLinks(t *testing.T) {
	if testing.Short() {
		t.Skip("it has one goroutine")
	}
	link := regexp.MustCompile(`\]\(([^)#: ]*)(?:#([^)]*))?\)`)
	for _, name := range slices.Concat(files(t, "*.md"), files(t, "docs/*.md"), files(t, "docs/bench/*.md"), files(t, "internal/lab/bench/*.md")) {
		for _, m := range link.FindAllStringSubmatch(prose(t, name), -1) {
			target, anchor := filepath.Join(filepath.Dir(name), m[1]), m[2]
			if m[1] == "" {
				target = name
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", name, err)
			} else if anchor != "" && !slices.Contains(anchors(t, target), anchor) {
				t.Errorf("%s: %s has no heading #%s", name, target, anchor)
			}
		}
	}
}

// TestDocIndex checks that the README and the index of docs link to each page.
func TestDocIndex(t *testing.T) {
	readme, index := read(t, "README.md"), read(t, "docs/README.md")
	for _, page := range files(t, "docs/*.md") {
		name := filepath.Base(page)
		if name == "README.md" {
			continue
		}
		if !strings.Contains(readme, "](docs/"+name+")") {
			t.Errorf("README.md does not link to %s", page)
		}
		if !strings.Contains(index, "]("+name+")") {
			t.Errorf("docs/README.md does not link to %s", page)
		}
	}
}

// TestGodocPages checks that the pages that package comments name exist.
func TestGodocPages(t *testing.T) {
	found := 0
	for _, name := range slices.Concat(files(t, "doc.go"), files(t, "*/doc.go")) {
		for _, page := range regexp.MustCompile(`docs/\w+\.md`).FindAllString(read(t, name), -1) {
			found++
			if _, err := os.Stat(page); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d pages are named", found)
	}
}

// pages returns the documents for users.
func pages(t *testing.T) []string { return append(files(t, "docs/*.md"), "README.md") }

// files returns the files that match a pattern. It fails the test if there are none.
func files(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(names), err)
	}
	return names
}

// prose returns a document without its blocks of code.
func prose(t *testing.T, name string) string {
	t.Helper()
	return regexp.MustCompile("(?s)```.*?```").ReplaceAllString(read(t, name), "")
}

// anchors returns the fragments with which links refer to the headings of a document.
func anchors(t *testing.T, name string) (found []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(prose(t, name), -1) {
		text := regexp.MustCompile(`[^\pL\pN _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		found = append(found, strings.ReplaceAll(text, " ", "-"))
	}
	return found
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
