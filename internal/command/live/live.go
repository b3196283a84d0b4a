// Package live starts real servers for the generator and the tests of package command, and sends
// them commands. It imports no other package of this module, because those need the generated
// table.
package live

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// patience bounds the start of a server and each of its answers. A start takes tens of
// milliseconds, so this allows for a machine under heavy load.
const patience = 20 * time.Second

// Server is a connection to a server. It may own the server process.
type Server struct {
	conn net.Conn
	in   *bufio.Reader
	cmd  *exec.Cmd
	dir  string
}

// Error is an error reply.
type Error string

func (e Error) Error() string { return string(e) }

// Open connects to a server at host:port. Any other target is the path of a server's binary, which
// Open starts in a temporary directory.
func Open(target string) (*Server, error) {
	if _, _, err := net.SplitHostPort(target); err == nil {
		s := &Server{}
		return s, s.dial("tcp", target)
	}
	path, err := exec.LookPath(target)
	if err != nil {
		return nil, fmt.Errorf("no server to ask: %w", err)
	}
	dir, err := os.MkdirTemp("", "command")
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, "sock")
	s := &Server{dir: dir}
	s.cmd = exec.Command(path, "--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "")
	if err := s.cmd.Start(); err != nil {
		s.Close()
		return nil, err
	}
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if err = s.dial("unix", socket); err == nil {
			return s, nil
		}
		if time.Now().After(end) {
			s.Close()
			return nil, fmt.Errorf("%s does not answer: %w", path, err)
		}
	}
}

func (s *Server) dial(network, addr string) error {
	conn, err := net.DialTimeout(network, addr, patience)
	if err != nil {
		return err
	}
	s.conn, s.in = conn, bufio.NewReader(conn)
	return nil
}

// Close closes the connection, and stops the server if Open started it.
func (s *Server) Close() {
	if s.conn != nil {
		_ = s.conn.Close()
	}
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}

// Do sends a command and returns its reply: a string, an int, a []any, an
// Error, or nil for null.
func (s *Server) Do(args ...string) (any, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	if err := s.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(s.conn, b.String()); err != nil {
		return nil, err
	}
	return s.read()
}

func (s *Server) read() (any, error) {
	line, err := s.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return nil, errors.New("empty reply")
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '+':
		return rest, nil
	case '-':
		return Error(rest), nil
	}
	n, err := strconv.Atoi(rest)
	if err != nil || kind == ':' {
		return n, err
	}
	if n < 0 {
		return nil, nil
	}
	switch kind {
	case '$':
		body := make([]byte, n+2)
		_, err := io.ReadFull(s.in, body)
		return string(body[:n]), err
	case '*':
		list := make([]any, n)
		for i := range list {
			if list[i], err = s.read(); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	return nil, fmt.Errorf("unknown reply %q", line)
}

// Version returns the server's name and version: "redis-7.0.15".
func (s *Server) Version() (string, error) {
	reply, err := s.Do("INFO", "server")
	if err != nil {
		return "", err
	}
	info, _ := reply.(string)
	field := func(name string) string {
		_, after, _ := strings.Cut(info, "\r\n"+name+":")
		value, _, _ := strings.Cut(after, "\r\n")
		return value
	}
	if v := field("valkey_version"); v != "" {
		return "valkey-" + v, nil
	}
	if v := field("redis_version"); v != "" {
		return "redis-" + v, nil
	}
	return "", fmt.Errorf("INFO names no version: %v", reply)
}
