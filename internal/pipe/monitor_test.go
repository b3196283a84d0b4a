package pipe

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestServed(t *testing.T) {
	at := func(seconds int64) time.Time { return time.Unix(1000+seconds, 0) }
	var v served
	require.Equal(t, at(1), v.since(at(1), 7))
	require.Equal(t, at(1), v.since(at(2), 7))
	require.Equal(t, at(3), v.since(at(3), 8))
}
