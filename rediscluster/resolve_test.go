package rediscluster

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestResolveHosts(t *testing.T) {
	KnownNames(t, NameTable{"a.test": {"10.0.0.1", "10.0.0.2"}, "b.test": {"10.0.0.2"}, "slow.test": {silence}})
	c := &Cluster{opts: Opts{Logger: NoopLogger{}}}
	addrs := []string{"slow.test:1", "a.test:1", "b.test:1", "gone.test:1", "gone.test:2", "[::1]:1", "nonsense"}
	known := map[string]string{"10.0.0.8:1": "slow.test", "10.0.0.9:1": "gone.test", "10.0.0.7:1": "left.test"}
	want := map[string]string{
		"10.0.0.1:1": "a.test", "10.0.0.2:1": "a.test", "[::1]:1": "::1",
		"10.0.0.8:1": "slow.test", "10.0.0.9:1": "gone.test", // the last known addresses of names that do not resolve
	}
	var got map[string]string
	for within := time.Second; within < patience && !maps.Equal(want, got); within *= 4 { // until all names but slow.test are resolved in time
		ctx, cancel := context.WithTimeout(context.Background(), within)
		got, _ = c.resolveHosts(ctx, addrs, known)
		cancel()
	}
	assert.Equal(t, want, got)
}
