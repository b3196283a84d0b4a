package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// server is a server on a port that a suite has chosen.
type server struct {
	port     int
	args     []string
	sentinel bool
}

// start starts servers without data, and returns a function that ends them. If another server has
// one of the ports, start fails, because the suites empty databases.
func start(ctx context.Context, dir string, servers []server) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	stop = func() {
		cancel()
		all.Wait()
	}
	defer func() {
		if err != nil {
			stop()
		}
	}()
	for _, s := range servers {
		taken, err := net.Listen("tcp", s.addr())
		if err != nil {
			return nil, fmt.Errorf("the suites need this port: %w", err)
		}
		_ = taken.Close()
		cmd, err := s.command(ctx, filepath.Join(dir, strconv.Itoa(s.port)))
		if err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		all.Go(func() { _ = cmd.Wait() })
	}
	for _, s := range servers {
		if err := s.await(ctx); err != nil {
			return nil, err
		}
	}
	return stop, nil
}

func (s server) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// command returns the command that starts the server in an empty directory.
func (s server) command(ctx context.Context, dir string) (*exec.Cmd, error) {
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	args := append([]string{
		"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--save", "",
		"--enable-debug-command", "yes", "--enable-module-command", "yes",
	}, s.args...)
	if s.sentinel {
		config := fmt.Sprintf("port %d\nbind 127.0.0.1\nsentinel resolve-hostnames yes\n", s.port)
		if err := os.WriteFile(filepath.Join(dir, "sentinel.conf"), []byte(config), 0o600); err != nil {
			return nil, err
		}
		args = []string{"sentinel.conf", "--sentinel"}
	}
	cmd := exec.CommandContext(ctx, cmp.Or(os.Getenv("REDIS_SERVER"), "redis-server"), args...)
	cmd.Dir = dir
	return cmd, nil
}

// await waits until the server accepts connections.
func (s server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.addr())
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no server: %w", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
