package redispipe_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestArrows: DESIGN.md lists every file of a package, and a file uses those that are
// listed before it. At most one use in eight goes the other way. With -v it shows those.
func TestArrows(t *testing.T) {
	for _, pkg := range []string{"redisconn", "rediscluster", "internal/topology"} {
		t.Run(pkg, func(t *testing.T) {
			files := listed(t, pkg)
			all, up := 0, []string{}
			for from, names := range arrows(t, pkg) {
				at := slices.Index(files, from)
				require.GreaterOrEqual(t, at, 0, "list %s.go in DESIGN.md, behind those of these that it rests on: %v",
					from, slices.Sorted(maps.Keys(names)))
				for to, used := range names {
					if all++; slices.Index(files, to) > at {
						up = append(up, fmt.Sprintf("%s -> %s: %s", from, to, strings.Join(used, ", ")))
					}
				}
			}
			slices.Sort(up)
			t.Logf("%d of %d arrows go up:\n%s", len(up), all, strings.Join(up, "\n"))
			require.LessOrEqual(t, 8*len(up), all)
		})
	}
}

// listed returns the files of a package as DESIGN.md lists them, without ".go".
func listed(t *testing.T, pkg string) []string {
	text, err := os.ReadFile("DESIGN.md")
	require.NoError(t, err)
	row := regexp.MustCompile(`(?m)^\| ` + pkg + ` \| (.*) \|$`).FindSubmatch(text)
	require.NotNil(t, row)
	files := strings.Split(string(row[1]), ", ")
	for _, name := range files {
		found, _ := filepath.Glob(filepath.Join(pkg, name+"*.go")) // of some platform, perhaps
		require.NotEmpty(t, found, "%s has no %s.go", pkg, name)
	}
	return files
}

// arrows returns, for each file, the other files of the package that it uses, with the
// names that it uses of them. Files of platforms count as one.
func arrows(t *testing.T, pkg string) map[string]map[string][]string {
	set := token.NewFileSet()
	paths, err := filepath.Glob(filepath.Join(pkg, "*.go"))
	require.NoError(t, err)
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_other.go") || strings.HasSuffix(path, "doc.go") {
			continue
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, file)
	}
	// What is imported is of no interest, and need not be found.
	config := types.Config{Importer: noImporter{}, Error: func(error) {}}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	of, _ := config.Check(pkg, set, files, info)
	nameOf := func(pos token.Pos) string {
		name := strings.TrimSuffix(filepath.Base(set.Position(pos).Filename), ".go")
		return strings.TrimSuffix(strings.TrimSuffix(name, "_unix"), "_linux")
	}
	all := map[string]map[string][]string{}
	for _, file := range files {
		all[nameOf(file.Pos())] = map[string][]string{}
	}
	for ident, object := range info.Uses {
		if object.Pkg() != of || object.Parent() != of.Scope() && !isMethod(object) {
			continue
		}
		from, to := nameOf(ident.Pos()), nameOf(object.Pos())
		if from != to && !slices.Contains(all[from][to], object.Name()) {
			all[from][to] = append(all[from][to], object.Name())
		}
	}
	return all
}

func isMethod(object types.Object) bool {
	f, ok := object.(*types.Func)
	return ok && f.Signature().Recv() != nil
}

// noImporter finds no package.
type noImporter struct{}

// Import implements types.Importer.
func (noImporter) Import(string) (*types.Package, error) { return nil, errors.New("not needed") }
