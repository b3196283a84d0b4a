//go:build !unix

package testbed

import (
	"errors"
	"os"
)

func signalFreeze(*os.Process) error { return errors.ErrUnsupported }

func signalThaw(*os.Process) error { return errors.ErrUnsupported }

// signalStop kills the process: this system has no gentler signal.
func signalStop(p *os.Process) error { return p.Kill() }
