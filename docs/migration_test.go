package docs_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/cmd"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

func TestMigratedOptions(t *testing.T) {
	s := testbed.NewServer(t)
	ctx, addr, user, password := t.Context(), s.Addr(), "ann", "/?#@%"
	admin, err := redispipe.Open(ctx, "redis://"+addr)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if err := redis.Err(admin.Do(ctx, "ACL SETUSER", user, "on", ">"+password, "+@all", "~*")); err != nil {
		t.Fatal(err)
	}

	db, err := redispipe.Open(ctx, "redis://"+addr, redispipe.Conn(func(o *redisconn.Opts) {
		o.Username, o.Password = user, password // unescaped: only a URL needs escapes
		o.DB = 1
		o.IOTimeout = 3 * time.Second
	}))

	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if who, err := redis.As[string](db.Do(ctx, "ACL WHOAMI")); who != user || err != nil {
		t.Error(who, err)
	}
}

func Example_migratedPipeline() {
	db, end := opened()
	defer end()
	players := []string{"ann", "bob", "cid"}
	ctx := context.Background()
	db.Do(ctx, "HSET", "balances", "ann", 5, "cid", 7)

	balances := func() error {
		var reqs []redis.Request
		for _, player := range players {
			reqs = append(reqs, redis.Req("HGET", "balances", player))
		}
		for i, res := range db.DoMany(ctx, reqs) {
			balance, err := redis.As[*int64](res) // nil: the player has no balance
			if err != nil {
				return err
			}
			if balance != nil {
				fmt.Println(players[i], *balance)
			}
		}
		return nil
	}
	if err := balances(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// ann 5
	// cid 7
}

func Example_migratedErrors() {
	db, end := opened()
	defer end()
	ctx := context.Background()
	db.Do(ctx, "SET", "greeting", "hello")

	_, err := cmd.LPush("greeting", "x").Do(ctx, db)
	switch e := redis.AsErrorx(err); {
	case e == nil: // it ran
	case e.IsOfType(redis.ErrContextClosed): // db is closed
	case e.IsOfType(redis.ErrResult) && strings.HasPrefix(e.Message(), "WRONGTYPE "):
		fmt.Println("greeting is not a list")
	}
	// Output: greeting is not a list
}

// TestMigrationParts checks the table of migration.md: how many lines each part of the service
// has with each client.
func TestMigrationParts(t *testing.T) {
	text, err := os.ReadFile("migration.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := []string{"new", "User", "SaveSession", "Session", "Score", "Top", "Purge"}
	titles := []string{"connecting", "a cache", "saving a session", "reading a session", "adding a score", "the best players", "a job that scans"}
	sums := make([]int, 5)
	lines := map[string]map[string]int{} // of each part, by client
	clients := []string{"redispipe", "goredis", "rueidis", "radix", "redigo"}
	for _, client := range clients {
		lines[client] = linesOfParts(t, "../internal/lab/bench/migration/"+client+".go")
	}
	for i, part := range parts {
		row := "| " + titles[i]
		for j, client := range clients {
			n := lines[client][part]
			if n == 0 {
				t.Errorf("%s has no part %s", client, part)
			}
			row += fmt.Sprintf(" | %d", n)
			sums[j] += n
		}
		if !strings.Contains(string(text), row+" |\n") {
			t.Errorf("migration.md lacks the row %s |", row)
		}
	}
	sum := "| together"
	for _, n := range sums {
		sum += fmt.Sprintf(" | %d", n)
	}
	if !strings.Contains(string(text), sum+" |\n") {
		t.Errorf("migration.md lacks the row %s |", sum)
	}
}

// linesOfParts counts the lines of each method of a file's client. Functions that belong to no
// method count as the constructor, "new".
func linesOfParts(t *testing.T, name string) map[string]int {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]int{}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Name.Name != "Close" {
			part := f.Name.Name
			if f.Recv == nil {
				part = "new"
			}
			parts[part] += files.Position(f.End()).Line - files.Position(f.Pos()).Line + 1
		}
	}
	return parts
}
