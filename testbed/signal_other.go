//go:build !unix

package testbed

import (
	"errors"
	"os"
)

func signalFreeze(*os.Process) error { return errors.ErrUnsupported }

func signalThaw(*os.Process) error { return errors.ErrUnsupported }

// signalStop kills: there is no gentler signal here.
func signalStop(p *os.Process) error { return p.Kill() }
