package rediscluster

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestStartWaitEndsWithTheContext(t *testing.T) {
	deadline := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	wait, stop := newStartWait(ctx)
	defer stop()
	until, _ := wait.Deadline()
	assert.WithinDuration(t, deadline, until, time.Second, "as long as the caller has")

	news := make(chan struct{}, 1)
	news <- struct{}{}
	assert.True(t, wait.again(news))
	assert.Empty(t, news)
	assert.True(t, wait.again(nil))
	cancel()
	assert.False(t, wait.again(nil))

	bounded, stop := newStartWait(context.Background())
	defer stop()
	until, _ = bounded.Deadline()
	assert.WithinDuration(t, time.Now().Add(startTimeout), until, time.Second)
}
