package testbed

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDefaults(t *testing.T) {
	o, err := Options{}.withDefaults()
	require.NoError(t, err)
	assert.Equal(t, time.Minute, o.StartTimeout)
	assert.Nil(t, o.CA)

	c, err := ClusterOptions{}.withDefaults()
	require.NoError(t, err)
	assert.Equal(t, []any{3, 3, time.Second}, []any{c.Masters, c.Replicas, c.Options.cluster})
	c, err = ClusterOptions{Masters: 5, Replicas: -1}.withDefaults()
	require.NoError(t, err)
	assert.Equal(t, []any{5, 0}, []any{c.Masters, c.Replicas})
}
