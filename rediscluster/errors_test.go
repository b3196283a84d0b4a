package rediscluster

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/rediscluster/internal/topology"
)

// A request that finds no node is retried like one that finds no connection.
func TestNoAliveConnectionIsRetried(t *testing.T) {
	err := (&Cluster{}).withCluster(ErrNoAliveConnection.Wrap(ErrNoMaster.New("x"), "x"))
	d := topology.Redirect(err, topology.Tries{}, false, topology.Limits{})
	assert.Equal(t, topology.Decision{Action: topology.RetryElsewhere, Refresh: true}, d)
}
