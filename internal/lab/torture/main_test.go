package torture

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// seed is the seed of all random choices. TORTURE_SEED sets it; the default is the time.
var seed = time.Now().UnixNano()

func TestMain(m *testing.M) {
	testbed.RequireRedis()
	if s, err := strconv.ParseInt(os.Getenv("TORTURE_SEED"), 10, 64); err == nil {
		seed = s
	}
	fmt.Println("TORTURE_SEED =", seed)
	code := m.Run()
	for _, stack := range (oracle.Goroutines{}).Left(endWithin, engines...) {
		fmt.Println("outlives all tests:", stack)
		code = 1
	}
	os.Exit(code)
}

// beside makes a test run in parallel with others in short mode. Tests that judge the memory or the
// speed of the process always run alone.
func beside(t *testing.T) {
	if !drill.InFull {
		t.Parallel()
	}
}

// again returns a command that runs the calling test in a separate process, with the environment
// variable set.
func again(t *testing.T, variable string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=3m")
	cmd.Env = append(os.Environ(), variable+"=1")
	return cmd
}

// patience bounds every wait whose length does not matter.
const patience = time.Minute

// fast returns options with time-outs that suit a test.
func fast() redisconn.Opts {
	return redisconn.Opts{
		IOTimeout: 300 * time.Millisecond, DialTimeout: 2 * time.Second,
		ReconnectPause: 10 * time.Millisecond, ReconnectPauseMax: 50 * time.Millisecond,
	}
}

// untimed returns the options of fast without time-outs. A test that waits for a time-out then
// fails after patience.
func untimed() redisconn.Opts {
	opts := fast()
	opts.IOTimeout, opts.DialTimeout = 3*patience, 3*patience
	return opts
}

// newRig returns a Rig that is closed when the test ends. If the oracle finds violations then, the
// test fails.
func newRig(t *testing.T, o RigOpts) *Rig {
	t.Helper()
	if o.Name == "" {
		o.Name = t.Name()
	}
	if o.Seed == 0 {
		o.Seed = seed
	}
	r, err := NewRig(o)
	require.NoError(t, err)
	t.Cleanup(func() {
		r.Close()
		passes(t, r.Ledger.Report)
	})
	return r
}

// judge calls Rig.Judge, and requires the universal pass.
func judge(t *testing.T, r *Rig) (*oracle.Report, Precision) {
	t.Helper()
	report, precision, err := r.Judge(patience)
	require.NoError(t, err)
	passes(t, report)
	t.Logf("%v; %+v", report, precision)
	return report, precision
}

// passes requires the universal pass: no broken promise at all.
func passes(t *testing.T, r *oracle.Report) {
	t.Helper()
	if r.Failed() {
		t.Fatalf("seed %d: promise broken: %v", seed, r)
	}
}

// runFor returns a context that ends after d.
func runFor(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// long returns n if tests run in full, and otherwise short.
func long(n, short int) int {
	if drill.InFull {
		return n
	}
	return short
}

// paced is how long workers pause between requests, so that most processor time is left for the
// servers.
var paced = time.Duration(long(1, 4)) * time.Millisecond
