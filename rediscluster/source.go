package rediscluster

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/rediscluster/internal/topology"
)

// source provides the topology: from the nodes of a cluster (nodeSource), the servers
// of a list (serverList), or sentinels. Only the refresher calls its methods.
type source interface {
	// start returns the first layout. It gives up when ctx is done.
	start(ctx context.Context) (*topology.Layout, error)
	// read returns the present layout, or nil if no server answers. If ask is set, it asks the
	// servers again, until ctx is done.
	read(ctx context.Context, ask bool) *topology.Layout
	// probe reports whether a server reports masters that differ from those of the topology. It
	// asks fewer servers than read.
	probe() bool
	// hosts returns hostnames by address. TLS verifies them where the layout has no hostname.
	hosts() map[string]string
}

// askGrace is how long to wait for the other answers after the first good one.
const askGrace = 100 * time.Millisecond

// gather waits for n answers. Each arrives as a function, which gather calls; the function records the
// answer and reports whether it is good. gather waits at most atMost for the first good answer, and
// at most askGrace longer for the others. It returns early when wake is signalled or ctx is done.
func gather(ctx context.Context, answers <-chan func() (good bool), n int, atMost time.Duration, wake <-chan struct{}) {
	late := time.NewTimer(atMost)
	defer late.Stop()
	for first := true; n > 0; n-- {
		select {
		case hear := <-answers:
			if hear() && first {
				first = false
				late.Reset(askGrace)
			}
		case <-wake:
			return
		case <-late.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

const (
	// startTimeout is how long a constructor waits for a master to become known, if
	// its context has no deadline: long enough for most failovers, and not longer than a
	// caller expects of a constructor.
	startTimeout = 5 * time.Second
	// startFirst is the first pause between two rounds of questions. The pause doubles up
	// to startMost, so that a long wait does not load the servers.
	startFirst = 50 * time.Millisecond
	startMost  = time.Second
)

// startContext returns a context that is done with ctx, or after startTimeout if ctx has no deadline.
func startContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, bounded := ctx.Deadline(); bounded {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, startTimeout)
}

// firstLayout calls try until it returns a layout or a final error, or until the
// startContext is done. wake ends the pauses between the rounds.
func firstLayout(ctx context.Context, wake <-chan struct{}, try func(context.Context) (l *topology.Layout, err error, final bool)) (*topology.Layout, error) {
	ctx, cancel := startContext(ctx)
	defer cancel()
	var failure error
	for round := 0; ; round++ {
		l, err, final := try(ctx)
		if err == nil || final {
			return l, err
		}
		if failure == nil || ctx.Err() == nil { // otherwise the servers had no time to answer
			failure = err
		}
		if _, err := lifetime.Pause(ctx, lifetime.DoubledPause(startFirst, startMost, round), wake); err != nil {
			return nil, failure
		}
	}
}
