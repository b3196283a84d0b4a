// Command suites runs the tests of other clients, and of libraries that are built on them, as they
// are published: first over sockets, and then with a virtual connection for each. It prints the
// tests that end differently over virtual connections, compares them with a list of known
// differences, and fails if they are not the same.
//
//	make suites
//	make suites SUITES='asynq|redis_rate'
//
// It copies their source from go mod download, in the versions that go.mod requires, and replaces
// the dialer in the copy. It starts servers on the ports that the suites use, such as 6379. These
// ports must be free, because the suites empty the databases there.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
)

func main() {
	only := flag.String("suites", "", "a regular expression: run only these")
	dir := flag.String("dir", "", "where copies, logs and reports are left; default: nowhere")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	same, err := compareAll(ctx, *dir, *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "suites:", err)
	}
	if err != nil || !same {
		os.Exit(1)
	}
}

// compareAll runs suites in a directory. It reports whether all tests end as the list of known
// differences says.
func compareAll(ctx context.Context, dir, only string) (same bool, err error) {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return false, err
	}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "suites-"); err != nil {
			return false, err
		}
		defer func() { _ = os.RemoveAll(dir) }()
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return false, err
	}
	all := suites()
	for _, s := range all {
		if err := s.fetch(ctx, filepath.Join(dir, s.name)); err != nil {
			return false, err
		}
	}
	if err := workspace(ctx, dir, all); err != nil {
		return false, err
	}
	same = true
	for _, s := range all {
		if !wanted.MatchString(s.name) {
			continue
		}
		sockets, err := s.test(ctx, dir, false)
		if err != nil {
			return false, fmt.Errorf("%s over sockets: %w", s.name, err)
		}
		virtual, err := s.test(ctx, dir, true)
		if err != nil {
			return false, fmt.Errorf("%s over virtual connections: %w", s.name, err)
		}
		fmt.Printf("%s: %d pass over sockets, %d over virtual connections\n", s.name, sockets.passed(), virtual.passed())
		same = s.compare(sockets, virtual) && same
	}
	return same, nil
}

// compare prints the tests that fail over sockets, and those that end differently over virtual
// connections. It reports whether the latter are exactly the known differences.
func (s suite) compare(sockets, virtual results) (same bool) {
	names := maps.Clone(sockets)
	maps.Copy(names, virtual)
	same = true
	for _, name := range slices.Sorted(maps.Keys(names)) {
		there, here := sockets[name], virtual[name]
		why, known := s.differs[name]
		differs := (there == "pass") != (here == "pass")
		switch {
		case differs && known:
			fmt.Printf("\tas known: %s: %s over sockets, %s here: %s\n", name, ended(there), ended(here), why)
		case differs:
			fmt.Printf("\tNOT KNOWN: %s: %s over sockets, %s here\n", name, ended(there), ended(here))
			same = false
		case known:
			fmt.Printf("\tNO MORE: %s: %s over both\n", name, ended(there))
			same = false
		case there == "fail":
			fmt.Printf("\tover both: %s fails\n", name)
		}
	}
	return same
}

// ended returns the verb for the result of a test: it passes, fails, is skipped, or does not end.
func ended(result string) string {
	switch result {
	case "pass":
		return "passes"
	case "fail":
		return "fails"
	case "skip":
		return "is skipped"
	}
	return "does not end"
}
