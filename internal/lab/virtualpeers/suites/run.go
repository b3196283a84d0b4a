package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// results are the results of tests: "pass", "fail" or "skip", or "run" for a test that has not
// ended.
type results map[string]string

func (r results) passed() (n int) {
	for _, result := range r {
		if result == "pass" {
			n++
		}
	}
	return n
}

// order is the random order of specs. It is the same for sockets and virtual connections, because some
// specs fail if they run after others, for example after one that leaves a user behind.
var order = fmt.Sprint("--ginkgo.seed=", time.Now().Unix())

// test runs a suite, over virtual connections if virtual is set. The output is kept in a file.
func (s suite) test(ctx context.Context, dir string, virtual bool) (results, error) {
	stop, err := start(ctx, filepath.Join(dir, "servers"), s.servers)
	if err != nil {
		return nil, err
	}
	defer stop()
	mode, protocol := "sockets", ""
	if virtual {
		mode, protocol = "virtual", fmt.Sprint(s.protocol)
	}
	log := filepath.Join(dir, s.name+"-"+mode)
	_ = os.Remove(filepath.Join(dir, s.name, "dump.rdb")) // a server that a suite has started may have written it
	args := []string{"test", "-json", "-vet=off", "-count=1", "-p=1", "-timeout=20m"}
	if s.run != "" {
		args = append(args, "-run="+s.run)
	}
	if s.skip != "" {
		args = append(args, "-skip="+s.skip)
	}
	args = append(args, s.packages...)
	if s.specsSkipped != "" {
		args = append(args, "-args", "--ginkgo.skip="+s.specsSkipped, "--ginkgo.json-report="+log+".specs", order)
	}
	cmd := goCommand(ctx, args...)
	cmd.Dir = filepath.Join(dir, s.name)
	cmd.Env = append(os.Environ(), "GOWORK="+filepath.Join(dir, "go.work"), "VIRTUAL="+protocol, "REDIS_VERSION=7.0")
	out, err := cmd.CombinedOutput()
	if failed := new(exec.ExitError); err != nil && !errors.As(err, &failed) {
		return nil, err
	}
	if err := os.WriteFile(log+".log", out, 0o600); err != nil {
		return nil, err
	}
	got := ofTests(out)
	if s.specsSkipped != "" {
		if got, err = ofSpecs(log + ".specs"); err != nil {
			return nil, fmt.Errorf("the suite did not end, see %s.log: %w", log, err)
		}
	}
	if len(got) == 0 {
		return nil, fmt.Errorf("no test has run, see %s.log", log)
	}
	return got, nil
}

// ofTests returns the results in the output of go test -json.
func ofTests(out []byte) results {
	got := results{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var event struct{ Action, Test string }
		if json.Unmarshal(lines.Bytes(), &event) != nil || event.Test == "" {
			continue
		}
		switch event.Action {
		case "run", "pass", "fail", "skip":
			got[event.Test] = event.Action
		}
	}
	return got
}

// ofSpecs returns the results in a report of Ginkgo.
func ofSpecs(path string) (results, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var reports []struct {
		SpecReports []struct {
			ContainerHierarchyTexts []string
			LeafNodeText, State     string
		}
	}
	if err := json.Unmarshal(text, &reports); err != nil {
		return nil, err
	}
	got := results{}
	for _, report := range reports {
		for _, spec := range report.SpecReports {
			name := strings.Join(append(spec.ContainerHierarchyTexts, spec.LeafNodeText), " / ")
			switch spec.State {
			case "passed":
				got[name] = "pass"
			case "skipped", "pending":
				got[name] = "skip"
			default:
				got[name] = "fail"
			}
		}
	}
	return got, nil
}
