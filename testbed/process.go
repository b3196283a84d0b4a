package testbed

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
)

// process is a running server process.
type process struct {
	os *os.Process
	// done is closed when the process has ended and was reaped.
	done chan struct{}
}

// spawn runs a command that logs to the file at logPath.
//
// It starts a goroutine that owns the process and ends with it. The goroutine keeps its thread
// until then, because the kernel kills the child when the thread that forked it ends. So the child
// runs until it ends by itself or until this process ends.
func spawn(logPath, dir, binary string, args ...string) (*process, error) {
	logFile, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(binary, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = dir, logFile, logFile, childAttr()

	p := &process{done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		err := cmd.Start()
		_ = logFile.Close()
		p.os = cmd.Process
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("testbed: run %s: %w", binary, err)
	}
	return p, nil
}

// running reports whether the process has not ended yet.
func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// kill ends the process with SIGKILL and waits for its end.
func (p *process) kill() error {
	if err := p.os.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.done
	return nil
}

// fileTail returns the last limit bytes of a file, but nothing before position from.
func fileTail(path string, from, limit int64) string {
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	size := fileSize(path)
	if size-from > limit {
		from = size - limit
	}
	text, err := io.ReadAll(io.NewSectionReader(f, from, limit))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
