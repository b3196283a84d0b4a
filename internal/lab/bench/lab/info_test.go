package lab

import (
	"os"
	"testing"

	"github.com/joomcode/redispipe/testbed"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	testbed.RequireRedis()
	os.Exit(m.Run())
}

func TestInfoCountsCommandsAndReads(t *testing.T) {
	server := testbed.NewServer(t)
	c, err := Dial([]string{server.Addr()})
	require.NoError(t, err)
	defer c.Close()

	before, err := c.Info()
	require.NoError(t, err)
	for range 10 {
		answers, err := c.Do("PING")
		require.NoError(t, err)
		assert.Equal(t, []string{"PONG"}, answers)
	}
	after, err := c.Info()
	require.NoError(t, err)
	delta := after.Sub(before, 1)
	assert.EqualValues(t, 10, delta.Commands)
	assert.EqualValues(t, 10, delta.Reads)
	assert.Zero(t, delta.Clients)

	_, err = c.Do("NOSUCH")
	assert.ErrorContains(t, err, "NOSUCH")
	assert.NotEqual(t, "unknown", c.Version())
}
