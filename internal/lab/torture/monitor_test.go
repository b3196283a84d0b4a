package torture

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/testbed"
)

func TestMonitorTellsWrites(t *testing.T) {
	s := testbed.NewServer(t)
	m, err := StartMonitor(s)
	require.NoError(t, err)
	began := time.Now()
	require.NoError(t, redis.AsError(s.Do("SET", "a", "name:7|x")))
	require.NoError(t, redis.AsError(s.Do("GET", "a")))
	require.NoError(t, redis.AsError(s.Do("EVAL", "return redis.call('INCR', 'b')", 0)))
	require.NoError(t, redis.AsError(s.Do("INCR", "b")))
	require.NoError(t, s.Kill())
	<-m.ended
	writes := m.Stop()
	require.Len(t, writes, 2)
	assert.Equal(t, []string{"SET", "a", "name:7|x"}, writes[0].Args)
	assert.Equal(t, []string{"INCR", "b"}, writes[1].Args)
	assert.WithinDuration(t, began, writes[0].At, time.Minute)
	assert.NotEqual(t, writes[0].From, writes[1].From)
}
