package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/joomcode/redispipe/internal/lab/bench/lab"
	"github.com/joomcode/redispipe/internal/lab/bench/peer"
)

// overhead is how long a run takes in addition to measuring: for its process, its connections, and
// the counters.
const overhead = 350 * time.Millisecond

// runner runs every client in every case, in rounds, and keeps the results.
type runner struct {
	cases    []Case
	drivers  []peer.Driver
	rounds   int
	duration time.Duration
	results  *Results
	log      io.Writer
	// interrupted ends the rounds early. The report has what was measured until then.
	interrupted chan os.Signal

	lab          *lab.Lab
	delays       map[time.Duration]*delayProcess
	redisVersion string
	loadBefore   string
}

// run repeats all cases. In each case the clients run one after the other, and each round begins
// with another client. So a machine that becomes slower or faster affects all clients alike.
func (r *runner) run() error {
	r.loadBefore = loadAverage()
	var err error
	if r.lab, err = lab.Start(); err != nil {
		return err
	}
	defer r.lab.Close()
	r.delays = map[time.Duration]*delayProcess{}
	defer func() {
		for _, d := range r.delays {
			d.close()
		}
	}()
	if err := r.askVersion(); err != nil {
		return err
	}
	for round := range r.rounds {
		for _, c := range r.cases {
			if done := r.runCase(c, round); done {
				return nil
			}
		}
	}
	return nil
}

// runCase runs one case with all clients. It returns true if the rounds must stop.
func (r *runner) runCase(c Case, round int) bool {
	if c.Kind == limit {
		v, err := r.redisBenchmark(c)
		r.keep(key{c.ID, limitName}, v, err, round)
		return false
	}
	for i := range r.drivers {
		d := r.drivers[(i+round)%len(r.drivers)]
		if !c.fits(d) {
			continue
		}
		select {
		case <-r.interrupted:
			fmt.Fprintln(r.log, "interrupted: the report has what was measured so far")
			return true
		default:
		}
		v, err := r.spawn(c, d)
		r.keep(key{c.ID, d.Name}, v, err, round)
	}
	return false
}

// keep records a run and shows the progress.
func (r *runner) keep(k key, v values, err error, round int) {
	if err != nil {
		r.results.failed[k] = err
		fmt.Fprintf(r.log, "round %d  %-13s %-16s FAILED: %v\n", round+1, k.Case, k.Client, err)
		return
	}
	r.results.add(k, v)
	var line strings.Builder
	for _, m := range allMetrics {
		if x, ok := v[m]; ok && (m != failures || x > 0) {
			fmt.Fprintf(&line, "  %s %s", number(x), m)
		}
	}
	fmt.Fprintf(r.log, "round %d  %-13s %-16s%s\n", round+1, k.Case, k.Client, line.String())
}

// spawn measures in a separate process, so that clients share neither heap nor scheduler.
func (r *runner) spawn(c Case, d peer.Driver) (values, error) {
	servers, err := r.servers(c)
	if err != nil {
		return nil, err
	}
	j := job{Client: d.Name, Case: c, Servers: servers, CA: r.lab.CA(), Duration: r.duration}
	switch {
	case c.TLS:
		j.Addrs = []string{r.lab.ServerTLS()}
	case c.Delay > 0:
		p, err := r.delay(c.Delay)
		if err != nil {
			return nil, err
		}
		j.Addrs = []string{p.addr}
	default:
		j.Addrs = j.Servers
	}
	input, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	// A hung client must not hang the other runs: the time-out is a minute more than a run needs.
	ctx, cancel := context.WithTimeout(context.Background(), 4*r.duration+time.Minute)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-child")
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &stdout, &stderr
	if c.Procs > 0 {
		cmd.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", c.Procs))
	}
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, lastLines(stderr.String()))
	}
	var v values
	err = json.Unmarshal(stdout.Bytes(), &v)
	return v, err
}

// lastLines returns the end of the output of a process that failed.
func lastLines(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[:min(len(lines), 3)], "; ")
}

// servers returns the servers that a case runs on.
func (r *runner) servers(c Case) ([]string, error) {
	if c.Masters > 0 {
		return r.lab.Cluster(c.Masters)
	}
	return []string{r.lab.Server()}, nil
}

// durationWithin returns the longest duration of a measurement with which one round ends within a
// budget.
func (r *runner) durationWithin(budget time.Duration) time.Duration {
	var runs, weight float64
	for _, c := range r.cases {
		for _, d := range r.drivers {
			if c.fits(d) {
				runs++
				weight += c.weight()
			}
		}
		if c.Kind == limit {
			runs, weight = runs+1, weight+c.weight()
		}
	}
	left := budget.Seconds() - runs*overhead.Seconds()
	return max(time.Duration(left/max(weight, 1)*float64(time.Second)), 200*time.Millisecond)
}

// weight returns how many durations a run of the case takes.
func (c Case) weight() float64 {
	switch c.Kind {
	case phases:
		return 3 + 1.0/warmUp
	case idleConns:
		return 1 // about a second, no matter how long other cases take
	case waiting:
		return 2
	case limit:
		return 4
	default:
		return 1 + 1.0/warmUp
	}
}
