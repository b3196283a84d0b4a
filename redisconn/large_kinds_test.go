package redisconn

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redisconn/internal/engine"
)

// Kinds are forgotten when their replies are small, and some time after the last large reply.
func TestKindsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l large
		l.learn(1)
		l.learn(2)
		time.Sleep(largeKept / 2)
		l.sized(1, engine.LargeLeast)
		l.sized(2, engine.LargeLeast-1)
		time.Sleep(largeKept)
		require.True(t, l.has(1))
		require.False(t, l.has(2))
		time.Sleep(time.Nanosecond)
		require.False(t, l.has(1))
		require.Nil(t, l.known.Load())
	})
}
