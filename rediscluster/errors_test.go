package rediscluster

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/internal/send"
)

// A request that finds no node is retried like one that finds no connection.
func TestNoAliveConnectionIsRetried(t *testing.T) {
	err := (&Cluster{}).withCluster(ErrNoAliveConnection.Wrap(ErrNoMaster.New("x"), "x"))
	d := redirect(err, tries{}, send.Nature{}, limits{})
	assert.Equal(t, decision{Action: actElsewhere, Refresh: true}, d)
}
