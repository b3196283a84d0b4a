package testbed

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisdumb"
)

const (
	// logTail is how many bytes of a log an error quotes.
	logTail = 4 << 10
	// doTimeout bounds dialing in Do, and then the exchange. On a busy machine either may take
	// seconds.
	doTimeout = time.Minute
	// pollEvery is the pause between two checks of a condition.
	pollEvery = 5 * time.Millisecond
	// askTimeout bounds one check whether the server is up; checks are repeated.
	askTimeout = 500 * time.Millisecond
	// startAttempts bounds the attempts with new ports after a clash, which is rare.
	startAttempts = 5
)

// errClosed is returned by methods of a closed Server.
var errClosed = errors.New("testbed: server is closed")

// Server is a Redis server, which runs as a process while it is up.
type Server struct {
	opts    Options
	version version
	dir     string

	// mu is held during a change of state, from beginning to end, and guards the fields below.
	mu     sync.Mutex
	ports  portSet
	proc   *process // nil before the first start
	paused bool
	closed bool
	// logFrom is the position in the log at which the current run starts.
	logFrom int64
}

// NewServer starts a server for a test, and closes it when the test ends. If it
// can't start the server, the test fails. If the test fails, NewServer shows the end of the log.
// Pass at most one opts; without it, the defaults apply.
func NewServer(t testing.TB, opts ...Options) *Server {
	t.Helper()
	return forTest(t, Start, opts)
}

// Start starts a server and returns when it answers. Close it.
func Start(opts Options) (*Server, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	v, err := versionOf(o.Binary)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "testbed-")
	if err != nil {
		return nil, fmt.Errorf("testbed: %w", err)
	}
	s := &Server{opts: o, version: v, dir: dir}
	if err := s.prepare(); err != nil {
		s.Close()
		return nil, err
	}
	s.mu.Lock()
	err = s.startLocked(true)
	s.mu.Unlock()
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// prepare writes the files that stay the same over restarts.
func (s *Server) prepare() error {
	// 103 bytes is the limit on macOS, the lowest of all systems.
	if path := filepath.Join(s.dir, unixName); s.opts.Unix && len(path) > 103 {
		return fmt.Errorf("testbed: path of the unix socket is too long, use a shorter $TMPDIR: %s", path)
	}
	if !s.opts.TLS {
		return nil
	}
	cert, key, err := encodePEM(*s.opts.Certificate)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(s.dir, caName), s.opts.CA.PEM(), 0o600),
		os.WriteFile(filepath.Join(s.dir, certName), cert, 0o600),
		os.WriteFile(filepath.Join(s.dir, keyName), key, 0o600),
	)
}

// Addr returns the host:port of the plain TCP port. Only RestartElsewhere changes it.
func (s *Server) Addr() string { return s.address(func(p portSet) int { return p.plain.num }) }

// TLSAddr returns the host:port of the TLS port, or "" without Options.TLS.
func (s *Server) TLSAddr() string {
	if !s.opts.TLS {
		return ""
	}
	return s.address(func(p portSet) int { return p.tls.num })
}

func (s *Server) address(num func(portSet) int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("127.0.0.1:%d", num(s.ports))
}

// UnixPath returns the path of the unix socket, or "" without Options.Unix.
func (s *Server) UnixPath() string {
	if !s.opts.Unix {
		return ""
	}
	return filepath.Join(s.dir, unixName)
}

// ClientTLS returns a configuration that trusts the server's CA and has a client
// certificate signed by it, or nil without Options.TLS.
func (s *Server) ClientTLS() (*tls.Config, error) {
	if !s.opts.TLS {
		return nil, nil
	}
	return s.opts.CA.ClientConfig()
}

// CA returns the authority that signed the server's certificate, or nil without Options.TLS.
func (s *Server) CA() *CA { return s.opts.CA }

// Log returns the end of the server's log since its last start.
func (s *Server) Log() string {
	s.mu.Lock()
	from := s.logFrom
	s.mu.Unlock()
	return fileTail(filepath.Join(s.dir, logName), from, logTail)
}

// Do sends a command over a separate connection, as the default user, and
// returns its result, which may be an error. It gives up after a minute.
func (s *Server) Do(cmd string, args ...any) any {
	return s.do(s.Addr(), doTimeout, redis.Req(cmd, args...))
}

// do sends one request to addr, after AUTH if there is a password.
func (s *Server) do(addr string, timeout time.Duration, r redis.Request) any {
	conn := &redisdumb.Conn{Addr: addr, Timeout: timeout}
	defer conn.Close()
	if s.opts.Password == "" {
		return conn.Do(r.Cmd, r.Args...)
	}
	// The reply to AUTH does not matter: the test may have changed the password.
	reqs := []redis.Request{redis.Req("AUTH", s.opts.Password), r}
	return redis.Sync{S: conn}.SendMany(reqs)[1]
}

// CPU returns the processor time (user and system) that the running server has used, to the
// microsecond. The call itself uses a connection and a request.
func (s *Server) CPU() (time.Duration, error) {
	res := s.Do("INFO", "cpu")
	if err := redis.AsError(res); err != nil {
		return 0, fmt.Errorf("testbed: INFO cpu: %w", err)
	}
	info, _ := res.([]byte)
	return parseCPU(string(info))
}

func parseCPU(info string) (time.Duration, error) {
	var total time.Duration
	for _, name := range []string{"used_cpu_sys", "used_cpu_user"} {
		spent, err := time.ParseDuration(infoField(info, name) + "s")
		if err != nil {
			return 0, fmt.Errorf("testbed: no %s in INFO cpu: %w", name, err)
		}
		total += spent
	}
	return total, nil
}

// infoField returns the value of a field of INFO, or "".
func infoField(info, name string) string {
	for line := range strings.SplitSeq(info, "\n") {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func (s *Server) started() []*Server { return []*Server{s} }

func (s *Server) live() bool { return s.Running() && !s.Paused() }

// Close kills the server and removes its directory. A second call does nothing.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	if s.upLocked() {
		_ = s.proc.kill()
	}
	s.ports.releaseAll()
	_ = os.RemoveAll(s.dir)
}
