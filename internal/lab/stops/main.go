// Program stops rewrites the Go files of folders in place, so that a goroutine may stop before each
// statement. Run it in a copy of the tree, as scripts/stops.sh does. Tests and generated files stay
// unchanged.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	stopImport = "\n\nimport stophere \"github.com/joomcode/redispipe/internal/lab/stops/stop\"\n"
	stopCall   = "stophere.Here(); "
)

func main() {
	points := 0
	for _, dir := range os.Args[1:] {
		n, err := rewriteAll(dir)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		points += n
	}
	fmt.Printf("%d statements in %d packages\n", points, len(os.Args)-1)
}

// rewriteAll rewrites the files of a folder, and returns the number of their statements.
func rewriteAll(dir string) (points int, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s has no Go files", dir)
	}
	for _, file := range files {
		if err != nil {
			break
		}
		if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, "_gen.go") {
			continue
		}
		var before, after []byte
		var n int
		if before, err = os.ReadFile(file); err != nil {
			break
		}
		if after, n, err = rewrite(file, before); err == nil && n > 0 {
			points += n
			err = os.WriteFile(file, after, 0o644)
		}
	}
	return points, err
}

// rewrite returns a file with a stop before each of its n statements.
func rewrite(name string, src []byte) (out []byte, n int, err error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, src, parser.ParseComments)
	if err != nil {
		return nil, 0, err
	}
	var starts []int
	ast.Inspect(file, func(node ast.Node) bool {
		var list []ast.Stmt
		switch node := node.(type) {
		case *ast.BlockStmt:
			list = node.List
		case *ast.CaseClause:
			list = node.Body
		case *ast.CommClause:
			list = node.Body
		}
		for _, statement := range list {
			switch statement.(type) {
			case *ast.CaseClause, *ast.CommClause: // these are parts of statements
			default:
				starts = append(starts, set.Position(statement.Pos()).Offset)
			}
		}
		return true
	})
	if len(starts) == 0 {
		return src, 0, nil
	}
	slices.Sort(starts)
	var b bytes.Buffer
	at := set.Position(file.Name.End()).Offset
	b.Write(src[:at])
	b.WriteString(stopImport)
	for _, start := range starts {
		b.Write(src[at:start])
		b.WriteString(stopCall)
		at = start
	}
	b.Write(src[at:])
	out, err = format.Source(b.Bytes())
	return out, len(starts), err
}
