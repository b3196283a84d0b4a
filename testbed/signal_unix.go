//go:build unix

package testbed

import (
	"os"
	"syscall"
)

func signalFreeze(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

func signalThaw(p *os.Process) error { return p.Signal(syscall.SIGCONT) }

// signalStop asks a process to shut down, even if it is frozen.
func signalStop(p *os.Process) error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return signalThaw(p)
}
