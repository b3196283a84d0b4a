package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// listed is a package in the form of go list.
type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	ImportMap  map[string]string // for an import in the source, the path of the package, if that differs
	Module     *struct {
		Main      bool
		GoVersion string
	}
}

// ours reports whether the package belongs to a module of this tree. Then the bodies of its
// functions are checked, too.
func (p listed) ours() bool { return p.Module != nil && p.Module.Main }

// checked has the packages of a platform that were checked already, by import path.
type checked map[string]*types.Package

// check returns the type errors of packages, of their tests and of the packages that they import.
func check(files *sources, platform string, packages []string) ([]error, error) {
	system, arch, ok := strings.Cut(platform, "/")
	sizes := types.SizesFor("gc", arch)
	if !ok || sizes == nil {
		return nil, errors.New("no such platform: want GOOS/GOARCH")
	}
	list, err := dependencies(system, arch, packages)
	if err != nil {
		return nil, err
	}
	var faults []error
	seen := map[string]bool{}
	done := checked{"unsafe": types.Unsafe}
	for _, p := range list {
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") {
			continue // the go tool generates the main packages of tests
		}
		config := types.Config{
			Importer:         imports{done, p.ImportMap},
			Sizes:            sizes,
			IgnoreFuncBodies: !p.ours(),
			Error: func(err error) {
				if !seen[err.Error()] { // a package is checked again together with its tests
					seen[err.Error()] = true
					faults = append(faults, err)
				}
			},
		}
		if p.Module != nil && p.Module.GoVersion != "" {
			config.GoVersion = "go" + p.Module.GoVersion
		}
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			file, err := files.parse(filepath.Join(p.Dir, name))
			if err != nil {
				return faults, err
			}
			parsed = append(parsed, file)
		}
		path, _, _ := strings.Cut(p.ImportPath, " ") // for tests the form is PATH [TEST]
		done[p.ImportPath], _ = config.Check(path, files.set, parsed, nil)
	}
	return faults, nil
}

// dependencies lists packages, their tests and the packages that they import. Each comes after its
// own imports.
func dependencies(system, arch string, packages []string) ([]listed, error) {
	cmd := exec.Command("go", append([]string{"list", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,ImportMap,Module"}, packages...)...)
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var list []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); err == io.EOF {
			return list, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		list = append(list, p)
	}
}

// imports resolves the imports of a package to packages that were checked already.
type imports struct {
	done    checked
	renamed map[string]string
}

func (i imports) Import(path string) (*types.Package, error) {
	if other, ok := i.renamed[path]; ok {
		path = other
	}
	if pkg := i.done[path]; pkg != nil {
		return pkg, nil
	}
	return nil, fmt.Errorf("%s is not listed", path)
}
