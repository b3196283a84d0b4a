// Command api keeps the lists of exported names of the packages that users import. They are in
// api/PACKAGE.txt, one name a line, as in Go's own api directory.
//
//	go run ./internal/lab/api           compare: exit 1 unless the lists are exact
//	go run ./internal/lab/api -write    add what is new
//
// If a listed name is no longer exported, or has changed, programs would break. So -write does not
// remove lines.
package main

//go:generate go run . -write

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	write := flag.Bool("write", false, "add what is new to the lists")
	flag.Parse()
	if err := run(*write); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(write bool) error {
	m, err := findModule()
	if err != nil {
		return err
	}
	have, err := m.exported()
	if err != nil {
		return err
	}
	return check(filepath.Join(m.dir, "api"), have, write)
}

// check compares the lists in dir with the exported names of the packages. If write is set, it adds
// new names to the lists.
func check(dir string, have map[string][]string, write bool) error {
	listed, err := readLists(dir)
	if err != nil {
		return err
	}
	missing, added := less(listed, have), less(have, listed)
	if write {
		for name, lines := range added {
			all := slices.Sorted(slices.Values(append(listed[name], lines...)))
			if err := writeList(dir, name, all); err != nil {
				return err
			}
		}
		added = nil
	}
	return errors.Join(
		describe(missing, "listed in api, but not exported like that: programs would break"),
		describe(added, "not listed in api: make generate adds it"),
	)
}

// less returns the lines of a that are not in b.
func less(a, b map[string][]string) map[string][]string {
	left := map[string][]string{}
	for name, lines := range a {
		for _, line := range lines {
			if !slices.Contains(b[name], line) {
				left[name] = append(left[name], line)
			}
		}
	}
	return left
}

// describe returns an error that contains the lines, or nil if there are none.
func describe(lines map[string][]string, what string) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		for _, line := range lines[name] {
			errs = append(errs, fmt.Errorf("%s: %s", what, line))
		}
	}
	return errors.Join(errs...)
}

const listSuffix = ".txt"

// readLists returns the lists, by package relative to the module.
func readLists(dir string) (map[string][]string, error) {
	lists := map[string][]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, listSuffix) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, strings.TrimSuffix(path, listSuffix))
		lists[filepath.ToSlash(name)] = strings.Split(strings.TrimSpace(string(text)), "\n")
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return lists, err
}

func writeList(dir, name string, lines []string) error {
	path := filepath.Join(dir, filepath.FromSlash(name)+listSuffix)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}
