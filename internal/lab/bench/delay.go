package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/joomcode/redispipe/internal/lab/bench/lab"
)

// delayProcess is a proxy that adds a delay, in its own process, so that its processor time does
// not count as the client's.
type delayProcess struct {
	cmd   *exec.Cmd
	stdin io.Closer
	addr  string
}

// delay returns the proxy for a round trip. The first call starts it.
func (r *runner) delay(roundTrip time.Duration) (*delayProcess, error) {
	if p := r.delays[roundTrip]; p != nil {
		return p, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &delayProcess{cmd: exec.Command(self, "-delay", r.lab.Server()+"/"+roundTrip.String())}
	p.cmd.Stderr = os.Stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		p.close()
		return nil, fmt.Errorf("delay proxy: %w", err)
	}
	p.addr = strings.TrimSpace(line)
	r.delays[roundTrip] = p
	return p, nil
}

func (p *delayProcess) close() {
	_ = p.stdin.Close()
	_ = p.cmd.Wait()
}

// runDelay is the main function of the proxy's process. The process ends when its standard input
// ends, and so when its parent ends.
func runDelay(spec string) error {
	target, text, _ := strings.Cut(spec, "/")
	roundTrip, err := time.ParseDuration(text)
	if err != nil {
		return err
	}
	d, err := lab.ListenDelay(target, roundTrip)
	if err != nil {
		return err
	}
	defer d.Close()
	fmt.Println(d.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
