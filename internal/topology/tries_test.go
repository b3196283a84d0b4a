package topology

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestTriesAfter(t *testing.T) {
	for a, want := range map[Action]Tries{
		Resolve:        {},
		FollowMoved:    {hops: 1},
		FollowAsk:      {hops: 1},
		RetryElsewhere: {Retries: 1},
		Repeat:         {Retries: 1},
		AwaitMigration: {waits: 1},
	} {
		assert.Equal(t, want, Tries{}.After(Decision{Action: a}))
	}
	assert.Equal(t, Tries{waits: 2, Retries: 1}, Tries{hops: 3, waits: 1, Retries: 1}.After(Decision{Action: AwaitMigration}))
}

func TestBackoff(t *testing.T) {
	assert.Zero(t, backoff(0))
	assert.Equal(t, 2*time.Millisecond, backoff(1))
	assert.Equal(t, 4*time.Millisecond, backoff(2))
	total := time.Duration(0)
	for i := range uint8(maxRetries) {
		assert.LessOrEqual(t, backoff(i), backoffMost)
		total += backoff(i)
	}
	assert.Less(t, total, 300*time.Millisecond)
	assert.Equal(t, backoffMost, backoff(200))
}
