package main

import (
	"bufio"
	"bytes"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
)

// module is the module of the working directory.
type module struct{ path, dir string }

func findModule() (module, error) {
	text, err := goList("-m", "-f", "{{.Path}}\t{{.Dir}}")
	path, dir, _ := strings.Cut(strings.TrimSpace(text), "\t")
	return module{path, dir}, err
}

// exported lists what each package exports that others may import: the
// package's path in the module -> lines. That of the root is its name.
func (m module) exported() (map[string][]string, error) {
	// What the packages import is listed as well: to read one takes the others.
	text, err := goList("-export", "-deps", "-f", "{{.ImportPath}}\t{{.Name}}\t{{.Export}}", m.path+"/...")
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	var paths []string
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		fields := strings.Split(lines.Text(), "\t")
		files[fields[0]] = fields[2]
		if fields[2] == "" {
			continue // it has tests only
		}
		if strings.HasPrefix(fields[0]+"/", m.path+"/") && fields[1] != "main" && !strings.Contains(fields[0], "/internal/") {
			paths = append(paths, fields[0])
		}
	}
	imports := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(files[path])
	})
	all := map[string][]string{}
	for _, path := range paths {
		pkg, err := imports.Import(path)
		if err != nil {
			return nil, fmt.Errorf("import %s: %w", path, err)
		}
		name := strings.TrimPrefix(path, m.path+"/")
		if path == m.path {
			name = pkg.Name()
		}
		all[name] = list(pkg)
	}
	return all, nil
}

// goList returns what go list prints.
func goList(args ...string) (string, error) {
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	var failure bytes.Buffer
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w: %s", err, failure.Bytes())
	}
	return string(out), nil
}

// list returns a sorted line for each thing that a package exports.
func list(pkg *types.Package) []string {
	l := lister{pkg: pkg}
	for _, name := range pkg.Scope().Names() { // sorted
		if obj := pkg.Scope().Lookup(name); obj.Exported() {
			l.object(obj)
		}
	}
	return l.sorted()
}
