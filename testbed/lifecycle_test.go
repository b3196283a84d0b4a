package testbed

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisdumb"
)

func TestStopAndRestart(t *testing.T) {
	t.Parallel()
	withTLS, err := Has(TLS)
	require.NoError(t, err)
	for name, down := range map[string]func(*Server) error{"stop": (*Server).Stop, "kill": (*Server).Kill} {
		t.Run(name, func(t *testing.T) {
			s := NewServer(t, Options{Persist: true, TLS: withTLS, Unix: true})
			addr, tlsAddr, pid := s.Addr(), s.TLSAddr(), s.PID()
			require.NotZero(t, pid)
			require.Equal(t, "OK", s.Do("SET", "key", "kept"))
			require.NoError(t, down(s))
			require.NoError(t, down(s), "a second time does nothing")
			assert.False(t, s.Running())
			assert.Zero(t, s.PID())
			assert.Error(t, redis.AsError(s.Do("PING")))

			require.NoError(t, s.Restart())
			assert.True(t, s.Running())
			assert.NotEqual(t, pid, s.PID())
			assert.Equal(t, addr, s.Addr())
			assert.Equal(t, tlsAddr, s.TLSAddr())
			assert.Equal(t, []byte("kept"), s.Do("GET", "key"))
			assert.Equal(t, []byte("kept"), redisdumb.Do(s.UnixPath(), "GET", "key"))
		})
	}
}

func TestRestartOfARunningServer(t *testing.T) {
	s := NewServer(t)
	pid := s.PID()
	require.Equal(t, "OK", s.Do("SET", "key", "not kept"))
	require.NoError(t, s.Restart())
	assert.NotEqual(t, pid, s.PID())
	assert.Nil(t, s.Do("GET", "key"))
}

func TestRestartElsewhere(t *testing.T) {
	Needs(t, TLS)
	s := NewServer(t, Options{TLS: true})
	addr, tlsAddr := s.Addr(), s.TLSAddr()
	require.NoError(t, s.RestartElsewhere())
	assert.NotEqual(t, addr, s.Addr())
	assert.NotEqual(t, tlsAddr, s.TLSAddr())
	assert.Equal(t, "PONG", s.Do("PING"))
	assert.Error(t, redis.AsError(redisdumb.Do(addr, "PING")))
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	s := NewServer(t)
	conn := &redisdumb.Conn{Addr: s.Addr(), Timeout: 50 * time.Millisecond}
	defer conn.Close()
	require.NoError(t, s.Pause())
	assert.True(t, s.Paused())
	assert.True(t, s.Running())
	assert.Error(t, redis.AsError(conn.Do("PING")))
	require.NoError(t, s.Resume())
	assert.False(t, s.Paused())
	assert.Equal(t, "PONG", s.Do("PING"))

	for name, end := range map[string]func() error{"stop": s.Stop, "kill": s.Kill, "restart": s.Restart} {
		require.NoError(t, s.Restart())
		require.NoError(t, s.Pause())
		require.NoError(t, end(), name)
		assert.False(t, s.Paused())
	}
	require.NoError(t, s.Stop())
	assert.Error(t, s.Pause())
	assert.Error(t, s.Resume())
}

func TestServerThatDies(t *testing.T) {
	s := NewServer(t)
	_ = s.Do("SHUTDOWN NOSAVE")
	require.True(t, waitFor(time.Minute, pollEvery, func() bool { return !s.Running() }))
	require.NoError(t, s.Restart())
	assert.Equal(t, "PONG", s.Do("PING"))
}

func TestClose(t *testing.T) {
	s, err := Start(Options{})
	require.NoError(t, err)
	s.Close()
	s.Close()
	assert.False(t, s.Running())
	assert.NoDirExists(t, s.dir)
	assert.ErrorIs(t, s.Restart(), errClosed)
}

func TestLifecycleFromManyGoroutines(t *testing.T) {
	s := NewServer(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			assert.NoError(t, s.Kill())
			assert.NoError(t, s.Restart())
			_ = s.PID()
			_ = s.Addr()
			_ = s.Log()
		})
	}
	all.Wait()
	assert.True(t, s.Running())
}
