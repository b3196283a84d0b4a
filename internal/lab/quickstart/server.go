package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"

	"github.com/alicebob/miniredis/v2"
)

// embedded is a miniredis in its own process, so that measurements in this process cover only the
// client.
type embedded struct {
	addr  string
	cmd   *exec.Cmd
	stdin io.Closer
}

// startMiniredis runs this program again as the server.
func startMiniredis(ctx context.Context) (*embedded, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-serve-miniredis")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &embedded{cmd: cmd, stdin: stdin}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("the embedded server did not start: %w", err)
	}
	s.addr = strings.TrimSpace(line)
	return s, nil
}

// stop ends the server and waits until its process has ended.
func (s *embedded) stop() {
	s.stdin.Close()
	// The exit status does not matter, because the server has nothing to save.
	_ = s.cmd.Wait()
}

// serveMiniredis is the main function of the server's process: it writes its address to out and
// serves until in ends. in ends when the other process exits in any way.
func serveMiniredis(in io.Reader, out io.Writer) error {
	// Ctrl-C reaches both processes. The other one decides when to end.
	signal.Ignore(os.Interrupt)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close()

	redis := miniredis.NewMiniRedis()
	if err := redis.Start(); err != nil {
		return err
	}
	defer redis.Close()

	// This goroutine accepts connections until the listener is closed, which happens when the
	// function returns.
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			redis.Server().ServeConn(newBufferedConn(conn))
		}
	}()

	if _, err := fmt.Fprintln(out, listener.Addr()); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return err
}

// readSize is the most that Redis reads at once.
const readSize = 16 << 10

// bufferedConn reads many requests at once, and writes their replies together when no request is
// left, as Redis does. miniredis itself writes each reply separately, so that callers would get
// their replies, and send their next requests, one by one.
type bufferedConn struct {
	net.Conn
	r *bufio.Reader

	mu      sync.Mutex // guards the fields below, because miniredis reads and writes in two goroutines
	w       *bufio.Writer
	waiting bool // the reader waits for requests, so it will not flush w
}

func newBufferedConn(conn net.Conn) *bufferedConn {
	return &bufferedConn{Conn: conn, r: bufio.NewReaderSize(conn, readSize), w: bufio.NewWriterSize(conn, readSize)}
}

func (c *bufferedConn) Read(p []byte) (int, error) {
	if c.r.Buffered() == 0 {
		if err := c.setWaiting(true); err != nil {
			return 0, err
		}
		defer func() { _ = c.setWaiting(false) }()
	}
	return c.r.Read(p)
}

func (c *bufferedConn) setWaiting(waiting bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = waiting
	if !waiting {
		return nil
	}
	return c.w.Flush()
}

func (c *bufferedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.w.Write(p)
	if err == nil && c.waiting {
		err = c.w.Flush()
	}
	return n, err
}
