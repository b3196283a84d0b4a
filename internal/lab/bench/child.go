package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/joomcode/redispipe/internal/lab/bench/lab"
	"github.com/joomcode/redispipe/internal/lab/bench/peer"
)

// job is the input of a child process, on its standard input: one client and one case. The child
// answers with values.
type job struct {
	Client string
	Case   Case
	// The client dials Addrs. The statistics are those of Servers.
	Addrs, Servers []string
	CA             []byte
	// Duration of the measurement, after a warm-up of a quarter.
	Duration time.Duration
}

// bed is a job with its open connections.
type bed struct {
	job
	driver  peer.Driver
	options peer.Options
	control *lab.Control
}

// runChild is the main function of a child process.
func runChild(in io.Reader, out io.Writer) error {
	b := bed{}
	if err := json.NewDecoder(in).Decode(&b.job); err != nil {
		return err
	}
	var ok bool
	if b.driver, ok = peer.ByName(b.Client); !ok {
		return fmt.Errorf("no client %q in this build", b.Client)
	}
	b.options = peer.Options{Addrs: b.Addrs, Cluster: b.Case.Masters > 0, Callers: b.Case.callersOf(b.driver)}
	if b.Case.TLS {
		var err error
		if b.options.TLS, err = lab.TrustOnly(b.CA); err != nil {
			return err
		}
		b.options.CA = b.CA
	}
	var err error
	if b.control, err = lab.Dial(b.Servers); err != nil {
		return err
	}
	defer b.control.Close()

	v, err := b.measure()
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(v)
}

func (b *bed) measure() (values, error) {
	switch b.Case.Kind {
	case idleConns:
		return b.measureIdle()
	case waiting:
		return b.withClient(b.measureWaiting)
	case phases:
		return b.withClient(b.measurePhases)
	case handingOver:
		return b.withClient(b.measureHandOver)
	case leaving:
		return b.withClient(b.measureLeaving)
	case openLoop:
		return b.withClient(b.measureOpen)
	default:
		return b.withClient(b.measureClosed)
	}
}

func (b *bed) withClient(f func(peer.Client) (values, error)) (values, error) {
	c, err := b.driver.Open(b.options)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	defer c.Close()
	return f(c)
}
