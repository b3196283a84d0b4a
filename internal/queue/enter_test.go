package queue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// A server that answers nothing is known whatever was entered last, be a batch open, as behind a
// socket that takes nothing, or not.
func TestInTimeBehindAServerThatAnswersNothing(t *testing.T) {
	for _, open := range []bool{true, false} {
		q := newTestQueue(10, 1000)
		q.writing = true
		q.put(10, nil)
		q.Take(true)
		if open {
			q.put(10, nil)
		}
		q.usual = time.Millisecond
		q.head.Taken = timing.Clock() - time.Minute
		q.opened, q.called = q.head.Taken, q.head.Taken
		_, _, _, refused := q.Enter([]*wire.Request{{Deadline: time.Now().Add(time.Second)}}, &Entry{})
		require.True(t, refused.IsOfType(redis.ErrOverloaded), "%v", open)
	}
}

// A fence is found behind the last request, and has its number.
func TestBatchEnclose(t *testing.T) {
	b := &Batch{}
	fill(b, "a", "bb")
	b.Items[1].Seq = 1
	b.enclose()
	require.Len(t, b.Items, 3)
	require.Equal(t, uint64(1), b.Items[2].Seq)
	require.Equal(t, 1, b.find(1))
}
