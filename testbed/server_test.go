package testbed

import (
	"crypto/tls"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisdumb"
)

func TestServer(t *testing.T) {
	s := NewServer(t)
	assert.Equal(t, "PONG", s.Do("PING"))
	assert.Equal(t, "PONG", redisdumb.Do(s.Addr(), "PING"))
	assert.Equal(t, "OK", s.Do("DEBUG SLEEP", 0))
	assert.Empty(t, s.TLSAddr())
	assert.Empty(t, s.UnixPath())
	config, err := s.ClientTLS()
	require.NoError(t, err)
	assert.Nil(t, config)
	assert.Contains(t, s.Log(), "Ready to accept connections")
}

func TestServersSideBySide(t *testing.T) {
	seen := map[string]bool{}
	for range 5 {
		seen[NewServer(t).Addr()] = true
	}
	assert.Len(t, seen, 5)
}

func TestServerIsGoneAfterTheTest(t *testing.T) {
	var s *Server
	t.Run("inner", func(t *testing.T) { s = NewServer(t) })
	assert.False(t, s.Running())
	assert.NoDirExists(t, s.dir)
	_, err := net.Dial("tcp", s.Addr())
	assert.Error(t, err)
}

func TestPassword(t *testing.T) {
	// The password contains everything that a configuration file could misread.
	password := "pa ss\"'\\#\x00\n$é"
	s := NewServer(t, Options{Password: password})
	assert.Equal(t, "PONG", s.Do("PING"))
	assert.Error(t, redis.AsError(redisdumb.Do(s.Addr(), "PING")), "without a password")
	assert.Equal(t, "OK", redisdumb.Do(s.Addr(), "AUTH", password))
}

func TestACL(t *testing.T) {
	s := NewServer(t, Options{ACL: []string{"alice on >secret ~a:* +get"}})
	conn := &redisdumb.Conn{Addr: s.Addr()}
	defer conn.Close()
	require.Equal(t, "OK", conn.Do("AUTH", "alice", "secret"))
	assert.NoError(t, redis.AsError(conn.Do("GET", "a:1")))
	assert.ErrorContains(t, redis.AsError(conn.Do("GET", "b:1")), "NOPERM")
	assert.Equal(t, "PONG", s.Do("PING"))
}

func TestUnix(t *testing.T) {
	s := NewServer(t, Options{Unix: true})
	assert.Equal(t, "PONG", redisdumb.Do(s.UnixPath(), "PING"))
}

func TestServerTLS(t *testing.T) {
	Needs(t, TLS)
	s := NewServer(t, Options{TLS: true, ClientCerts: true, Password: "secret"})
	config, err := s.ClientTLS()
	require.NoError(t, err)
	conn := &redisdumb.Conn{Addr: s.TLSAddr(), TLSEnabled: true, TLSConfig: config}
	defer conn.Close()
	assert.Equal(t, "OK", conn.Do("AUTH", "secret"))

	anonymous := &redisdumb.Conn{Addr: s.TLSAddr(), TLSEnabled: true, TLSConfig: &tls.Config{RootCAs: s.CA().Pool()}}
	defer anonymous.Close()
	assert.Error(t, redis.AsError(anonymous.Do("PING")), "without a client certificate")
}

func TestExtraConfig(t *testing.T) {
	s := NewServer(t, Options{Config: []string{"databases 3", "appendonly yes"}})
	assert.Equal(t, []any{[]byte("databases"), []byte("3")}, s.Do("CONFIG GET", "databases"))
	assert.Equal(t, []any{[]byte("appendonly"), []byte("yes")}, s.Do("CONFIG GET", "appendonly"))
}

func TestStartFails(t *testing.T) {
	_, err := Start(Options{Config: []string{"no-such-directive 1"}})
	assert.ErrorContains(t, err, "no-such-directive", "the server's own words")

	_, err = Start(Options{Binary: "/no/such/redis-server"})
	assert.ErrorIs(t, err, ErrNoBinary)

}

func TestStartTimesOut(t *testing.T) {
	t.Parallel()
	Needs(t, Version(7, 0)) // older versions do not have the setting below
	// Loading takes a minute. The server is not ready when its port is open.
	s := NewServer(t, Options{Persist: true, Config: []string{"loading-process-events-interval-bytes 1024"}})
	require.NoError(t, redis.AsError(s.Do("DEBUG POPULATE", 2000, "key", 100)))
	require.NoError(t, redis.AsError(s.Do("CONFIG SET", "auto-aof-rewrite-percentage", 0)))
	require.NoError(t, redis.AsError(s.Do("BGREWRITEAOF")))
	require.True(t, waitFor(time.Minute, pollEvery, func() bool {
		info, _ := s.Do("INFO", "persistence").([]byte)
		return infoField(string(info), "aof_rewrite_in_progress") == "0" && strings.Contains(s.Log(), "Background AOF rewrite finished")
	}), s.Log())
	s.opts.Config = append(s.opts.Config, "key-load-delay 30000")
	s.opts.StartTimeout = 300 * time.Millisecond
	err := s.Restart()
	assert.ErrorContains(t, err, "not ready in 300ms")
	assert.ErrorContains(t, err, "its log:")
	assert.False(t, s.Running(), "a failed start leaves no process")
}

func TestStartLeavesNothingWhenItFails(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	_, err := Start(Options{Config: []string{"no-such-directive 1"}})
	require.Error(t, err)
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	assert.Empty(t, left)

	t.Setenv("TMPDIR", t.TempDir()+"/"+strings.Repeat("long", 30))
	require.NoError(t, os.MkdirAll(os.Getenv("TMPDIR"), 0o700))
	_, err = Start(Options{Unix: true})
	assert.ErrorContains(t, err, "too long")
}

func TestCPU(t *testing.T) {
	s := NewServer(t)
	before, err := s.CPU()
	require.NoError(t, err)
	require.Equal(t, "OK", redisdumb.Do(s.Addr(), "CONFIG SET", "lua-time-limit", 0))
	// This loop takes at least some milliseconds.
	require.NoError(t, redis.AsError(s.Do("EVAL", "for i = 1, 5000000 do end", 0)))
	after, err := s.CPU()
	require.NoError(t, err)
	assert.Greater(t, after-before, time.Millisecond)

	_, err = parseCPU("used_cpu_sys:1.5\r\n")
	assert.Error(t, err)
	total, err := parseCPU("# CPU\r\nused_cpu_sys:1.500000\r\nused_cpu_user:0.250001\r\n")
	require.NoError(t, err)
	assert.Equal(t, 1750001*time.Microsecond, total)
}
