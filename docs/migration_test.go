package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

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
		lines[client] = linesOfParts(t, "../internal/bench/migration/"+client+".go")
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
