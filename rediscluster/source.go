package rediscluster

import (
	"context"

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
