package redispipe_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
)

// TestOperatingNames checks that the fields and options that docs/operating.md names are
// there. The test of contrib/redisprom does so for the metrics.
func TestOperatingNames(t *testing.T) {
	known := map[string]bool{
		"Future": true, // an interface of package redis
		"Stats":  true, "Shutdown": true, "Close": true, "ErrOverloaded": true, "DoStream": true,
		"Gap": true, "Subscribe": true, "Unsubscribe": true, // of package redispubsub
	}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[redisconn.Stats](), reflect.TypeFor[rediscluster.Stats](), reflect.TypeFor[redisconn.Opts](),
		reflect.TypeFor[redispubsub.Stats](), reflect.TypeFor[redispubsub.SocketStats](),
	} {
		for _, field := range reflect.VisibleFields(typ) {
			known[field.Name] = true
		}
	}
	names := regexp.MustCompile("`([A-Z][a-z]+[A-Za-z]*)(?:\\(\\))?`").FindAllStringSubmatch(prose(t, "docs/operating.md"), -1)
	if len(names) < 25 {
		t.Errorf("only %d names", len(names))
	}
	for _, name := range names {
		if !known[name[1]] {
			t.Errorf("there is no %s", name[1])
		}
	}
}

// TestDesignNames checks that the files, methods and fields that DESIGN.md and
// CONTRIBUTING.md name are there.
func TestDesignNames(t *testing.T) {
	known := declared(t)
	names := map[string]bool{}
	for name := range known {
		names[name[strings.LastIndex(name, ".")+1:]] = true
	}
	foreign := regexp.MustCompile(`^(context|errors|go|io|runtime|sync)\.`) // Go's own
	name := regexp.MustCompile("`([A-Za-z]+\\.[A-Za-z]+|[a-z_/]+\\.go)(?:\\(.*?\\))?`")
	for _, doc := range []string{"DESIGN.md", "CONTRIBUTING.md"} {
		found := name.FindAllStringSubmatch(read(t, doc), -1)
		if len(found) < 5 {
			t.Errorf("%s: only %d names", doc, len(found))
		}
		for _, m := range found {
			if !known[m[1]] && !foreign.MatchString(m[1]) {
				t.Errorf("%s: there is no %s", doc, m[1])
			}
		}
		// Names of functions, constants and fields alone.
		for _, m := range regexp.MustCompile("`([a-z]+[A-Z][A-Za-z]*)`").FindAllStringSubmatch(read(t, doc), -1) {
			if !names[m[1]] {
				t.Errorf("%s: nothing is called %s", doc, m[1])
			}
		}
	}
}

// TestCommentNames checks that the files that comments name are there.
func TestCommentNames(t *testing.T) {
	known := declared(t)
	name := regexp.MustCompile(`//.*?\b([a-z_]+\.go)\b`)
	found := 0
	err := eachFile(func(path string) error {
		for _, m := range name.FindAllStringSubmatch(read(t, path), -1) {
			found++
			if !known[m[1]] {
				t.Errorf("%s: there is no %s", path, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 10 {
		t.Errorf("only %d names", found)
	}
}

// TestPageNames checks that what the documents for users name with its package, or with one of
// the types that they name most, is there. That of other clients, in docs/migration.md, is left out.
func TestPageNames(t *testing.T) {
	known := declared(t)
	name := regexp.MustCompile("`((?:redis|redispipe|redisconn|rediscluster|redispubsub|redistest|memserver|testbed|(?:Sub\\w+|Group)?Opts|Connection|Cluster|Script|SyncCtx)\\.[A-Z]\\w*)")
	found := 0
	for _, page := range pages(t) {
		if page == "docs/migration.md" {
			continue
		}
		for _, m := range name.FindAllStringSubmatch(prose(t, page), -1) {
			found++
			if !known[m[1]] {
				t.Errorf("%s: there is no %s", page, m[1])
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d names", found)
	}
}

// declared returns the names that this repository declares: paths and names of files, and names
// with their type or package before them.
func declared(t *testing.T) map[string]bool {
	if testing.Short() {
		t.Skip("it has one goroutine, and parses all files")
	}
	known, err := declarations()
	if err != nil {
		t.Fatal(err)
	}
	return known
}

var declarations = sync.OnceValues(func() (map[string]bool, error) {
	known := map[string]bool{}
	err := eachFile(func(path string) error {
		for rest := path; rest != ""; _, rest, _ = strings.Cut(rest, "/") {
			known[rest] = true
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				known[owner(file, decl.Recv)+"."+decl.Name.Name] = true
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					declareSpec(known, file.Name.Name, spec)
				}
			}
		}
		return nil
	})
	return known, err
})

// eachFile calls f for each Go file of the project. It skips build, because go writes Go files there when
// its cache is empty.
func eachFile(f func(path string) error) error {
	return filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == "build":
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		return f(path)
	})
}

// owner is the type of a receiver, or the package of a function.
func owner(file *ast.File, recv *ast.FieldList) string {
	if recv == nil {
		return file.Name.Name
	}
	typ := recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	switch generic := typ.(type) {
	case *ast.IndexExpr:
		typ = generic.X
	case *ast.IndexListExpr:
		typ = generic.X
	}
	return typ.(*ast.Ident).Name
}

func declareSpec(known map[string]bool, pkg string, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			known[pkg+"."+name.Name] = true
		}
	case *ast.TypeSpec:
		known[pkg+"."+spec.Name.Name] = true
		ast.Inspect(spec.Type, func(n ast.Node) bool {
			if field, ok := n.(*ast.Field); ok {
				for _, name := range field.Names {
					known[spec.Name.Name+"."+name.Name] = true
				}
			}
			return true
		})
	}
}
