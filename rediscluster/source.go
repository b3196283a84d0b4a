package rediscluster

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/internal/topology"
)

// source is where a topology comes from: the nodes of a cluster (nodeSource), the
// servers of a list (serverList), or sentinels. All else works on what it tells. But
// for news, its methods are the refresher's.
type source interface {
	// start returns the first layout. The cluster's context bounds it.
	start(ctx context.Context) (*topology.Layout, error)
	// read asks again, if ask is set, and returns what holds; nil if nobody answers.
	read(ask bool) *topology.Layout
	// probe reports whether somebody tells other masters than the topology has. It
	// asks less than read.
	probe() bool
	// news is signalled when read has something new to tell at once.
	news() <-chan struct{}
	// hosts returns hostnames by addresses, for TLS, where a layout has none.
	hosts() map[string]string
}

// askGrace is how long the others are waited for after the first has answered.
const askGrace = 100 * time.Millisecond

const (
	// startTimeout is how long a master is waited for that nobody knows yet, if the
	// context has no deadline: some failovers, and no more than a caller expects of a
	// constructor.
	startTimeout = 5 * time.Second
	// startFirst is the pause between two rounds of questions meanwhile. It doubles up
	// to startMost, so that a long wait is no load.
	startFirst = 50 * time.Millisecond
	startMost  = time.Second
)

// startContext is done with ctx, or after startTimeout if that has no deadline.
func startContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, bounded := ctx.Deadline(); bounded {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, startTimeout)
}
