package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// goCommand returns a command that runs $GO, or go.
func goCommand(ctx context.Context, args ...string) *exec.Cmd {
	name := os.Getenv("GO")
	if name == "" {
		name = "go"
	}
	return exec.CommandContext(ctx, name, args...)
}

//go:embed dialer/dialer.go
var dialer string

// clients are the suites of clients, with the package in which each client dials.
var clients = map[string]string{"goredis": "redis", "redigo": "redis", "radix": "radix"}

// fetch copies a module, in the version that this module requires, into a directory, and applies
// the edits.
func (s suite) fetch(ctx context.Context, dir string) error {
	cmd := goCommand(ctx, "mod", "download", "-json", s.module)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	var module struct{ Dir, Version, Error string }
	if err := errors.Join(err, json.Unmarshal(out, &module)); err != nil || module.Error != "" {
		return fmt.Errorf("%s: %w%s", s.module, err, module.Error)
	}
	if err := os.CopyFS(dir, os.DirFS(module.Dir)); err != nil {
		return err
	}
	for _, e := range s.edits {
		if err := e.do(dir); err != nil {
			return fmt.Errorf("%s %s: %w", s.module, module.Version, err)
		}
	}
	if name := clients[s.name]; name != "" {
		text := strings.Replace(dialer, "\npackage dialer\n", "\npackage "+name+"\n", 1)
		file := filepath.Join(dir, filepath.Dir(s.edits[0].file), "virtual_dial.go")
		return os.WriteFile(file, []byte(text), 0o600)
	}
	return nil
}

func (e edit) do(dir string) error {
	path := filepath.Join(dir, e.file)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), e.old) {
		return fmt.Errorf("%s has no %q", e.file, e.old)
	}
	return os.WriteFile(path, []byte(strings.ReplaceAll(string(text), e.old, e.new)), 0o600)
}

// workspace makes a Go workspace of all copies and this library, so that each suite is tested with
// the changed clients.
func workspace(ctx context.Context, dir string, all []suite) error {
	root, err := goCommand(ctx, "list", "-m", "-f", "{{.Dir}}", "github.com/joomcode/redispipe").Output()
	if err != nil {
		return err
	}
	text := "go 1.26.0\n\nuse " + strings.TrimSpace(string(root)) + "\n"
	for _, s := range all {
		text += "use ./" + s.name + "\n"
	}
	return os.WriteFile(filepath.Join(dir, "go.work"), []byte(text), 0o600)
}
