package queue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// A socket that takes nothing keeps a batch open for as long.
func TestInTimeBehindASocketThatTakesNothing(t *testing.T) {
	q := newTestQueue(10, 1000)
	q.writing = true
	q.put(10, nil)
	q.Take()
	q.put(10, nil)
	q.usual = time.Millisecond
	q.head.Taken, q.opened = timing.Clock()-time.Minute, timing.Clock()-time.Minute
	_, _, _, refused := q.Enter([]*wire.Request{{Deadline: time.Now().Add(time.Second)}}, &Entry{})
	require.True(t, refused.IsOfType(redis.ErrOverloaded))
}
