package main

import (
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

// exported lists the exported names of each package that users may import. The key is the path of
// the package in the module or, for the root, its name; the value is its lines.
func (m module) exported() (map[string][]string, error) {
	packages, err := compile(m.path + "/...")
	if err != nil {
		return nil, err
	}
	all := map[string][]string{}
	for path, name := range packages.names {
		if !strings.HasPrefix(path+"/", m.path+"/") || name == "main" || strings.Contains(path, "/internal/") {
			continue
		}
		pkg, err := packages.Import(path)
		if err != nil {
			return nil, fmt.Errorf("import %s: %w", path, err)
		}
		name = strings.TrimPrefix(path, m.path+"/")
		if path == m.path {
			name = pkg.Name()
		}
		all[name] = list(pkg)
	}
	return all, nil
}

// compiled imports packages from files that the go command has compiled.
type compiled struct {
	types.Importer
	names map[string]string // package names by path
}

// compile compiles the packages that match the patterns, and everything that they import.
func compile(patterns ...string) (compiled, error) {
	text, err := goList(append([]string{"-export", "-deps", "-f", "{{.ImportPath}}\t{{.Name}}\t{{.Export}}"}, patterns...)...)
	files, names := map[string]string{}, map[string]string{}
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if path, file := fields[0], fields[2]; file != "" { // otherwise the package has only tests
			files[path], names[path] = file, fields[1]
		}
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }
	return compiled{importer.ForCompiler(token.NewFileSet(), "gc", open), names}, err
}

// goList returns the output of go list.
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
