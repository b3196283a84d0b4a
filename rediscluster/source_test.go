package rediscluster

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestStartEndsWithTheContext(t *testing.T) {
	deadline := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	start, stop := startContext(ctx)
	defer stop()
	until, _ := start.Deadline()
	assert.Equal(t, deadline, until, "as long as the caller has")

	bounded, stop := startContext(context.Background())
	defer stop()
	until, _ = bounded.Deadline()
	assert.WithinDuration(t, time.Now().Add(startTimeout), until, time.Second)
}
