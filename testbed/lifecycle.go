package testbed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/joomcode/redispipe/redis"
)

// stopTimeout bounds a graceful shutdown, which may wait 10 s for replicas.
const stopTimeout = 15 * time.Second

// errClash: another socket uses the port.
var errClash = errors.New("port is taken")

// PID returns the process id of the running server, or 0 if it is down.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.upLocked() {
		return 0
	}
	return s.proc.os.Pid
}

// Running reports whether the server is up. A paused server is up.
func (s *Server) Running() bool { return s.PID() != 0 }

// Paused reports whether the server is up and frozen by Pause.
func (s *Server) Paused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.upLocked() && s.paused
}

func (s *Server) upLocked() bool { return s.proc != nil && s.proc.running() }

// Stop shuts the server down with SIGTERM and waits until it has ended. After 15 s it kills the server
// and returns an error. If the server is down, Stop returns nil.
func (s *Server) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopLocked()
}

func (s *Server) stopLocked() error {
	if !s.upLocked() {
		return nil
	}
	s.paused = false
	if err := signalStop(s.proc.os); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return s.failLocked("stop", err)
	}
	select {
	case <-s.proc.done:
		return nil
	case <-time.After(stopTimeout):
	}
	err := s.failLocked("stop", fmt.Errorf("still there after %v, killed", stopTimeout))
	return errors.Join(err, s.proc.kill())
}

// Kill ends the server with SIGKILL. If the server is down, Kill returns nil.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.upLocked() {
		return nil
	}
	s.paused = false
	return s.proc.kill()
}

// Restart stops the server, if it is up, and starts it on the same ports. It
// returns when the server answers. The data is lost unless Options.Persist is set.
func (s *Server) Restart() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.stopLocked(); err != nil {
		return err
	}
	return s.startLocked(false)
}

// RestartElsewhere is like Restart, but changes all ports.
func (s *Server) RestartElsewhere() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.stopLocked(); err != nil {
		return err
	}
	return s.startLocked(true)
}

// Pause freezes the server with SIGSTOP: the kernel still accepts
// connections and bytes for it, but nothing answers.
func (s *Server) Pause() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.upLocked() {
		return s.failLocked("pause", errors.New("it is down"))
	}
	if err := signalFreeze(s.proc.os); err != nil {
		return s.failLocked("pause", err)
	}
	s.paused = true
	pid := s.proc.os.Pid
	if !waitFor(stopTimeout, time.Millisecond, func() bool { return frozen(pid) }) {
		return s.failLocked("pause", errors.New("it is still running"))
	}
	return nil
}

// Resume lets a paused server continue, with all data that has arrived during the pause.
func (s *Server) Resume() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.upLocked() {
		return s.failLocked("resume", errors.New("it is down"))
	}
	s.paused = false
	if err := signalThaw(s.proc.os); err != nil {
		return s.failLocked("resume", err)
	}
	return nil
}

// startLocked starts a server that is down, on new ports if newPorts is set.
func (s *Server) startLocked(newPorts bool) error {
	if s.closed {
		return errClosed
	}
	for attempt := 1; ; attempt++ {
		if newPorts {
			ports, err := reservePorts(s.opts, s.version)
			if err != nil {
				return err
			}
			s.ports.releaseAll()
			s.ports = ports
		}
		err := s.launchLocked(newPorts || !s.opts.keepConfig)
		if !newPorts || !errors.Is(err, errClash) || attempt == startAttempts {
			return err
		}
	}
}

// launchLocked makes one attempt to start, with a new redis.conf if configure is set,
// and leaves no process if it fails.
func (s *Server) launchLocked(configure bool) error {
	conf, logPath := filepath.Join(s.dir, confName), filepath.Join(s.dir, logName)
	if configure {
		text := s.opts.config(s.version, s.dir, s.ports)
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			return s.failLocked("start", err)
		}
	}
	s.logFrom, s.paused = fileSize(logPath), false
	args := []string{conf}
	if s.opts.sentinel != nil {
		args = append(args, "--sentinel")
	}
	proc, err := spawn(logPath, s.dir, s.opts.Binary, args...)
	if err != nil {
		return err
	}
	s.proc = proc
	ready := waitFor(s.opts.StartTimeout, pollEvery, func() bool {
		return !proc.running() || s.readyLocked()
	})
	switch {
	case !proc.running():
		cause := errors.New("it ended at once")
		if strings.Contains(fileTail(logPath, s.logFrom, logTail), "Address already in use") {
			cause = errClash
		}
		return s.failLocked("start", cause)
	case !ready:
		_ = proc.kill()
		return s.failLocked("start", fmt.Errorf("not ready in %v", s.opts.StartTimeout))
	}
	if s.opts.sentinel != nil {
		s.hurryLocked()
	}
	return nil
}

// readyLocked reports whether the server at the port runs commands and is this server: another
// server may have the port. A server also counts as ready if the user has no permission for INFO.
func (s *Server) readyLocked() bool {
	addr := fmt.Sprintf("127.0.0.1:%d", s.ports.plain.num)
	res := s.do(addr, askTimeout, redis.Req("INFO"))
	if err := redis.AsErrorx(res); err != nil {
		return err.IsOfType(redis.ErrResult) && !err.IsOfType(redis.ErrLoading)
	}
	text, _ := res.([]byte)
	return infoField(string(text), "process_id") == fmt.Sprint(s.proc.os.Pid) &&
		infoField(string(text), "loading") != "1" // sentinels do not report this field
}

// failLocked returns an error with the end of the log.
func (s *Server) failLocked(what string, cause error) error {
	tail := strings.TrimSpace(fileTail(filepath.Join(s.dir, logName), s.logFrom, logTail))
	return fmt.Errorf("testbed: %s server on port %d: %w; its log:\n%s", what, s.ports.plain.num, cause, tail)
}
