//go:build !race

package redisfailover_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/testbed"
)

// A request allocates no more than with a plain client.
func TestAllocates(t *testing.T) {
	server := testbed.NewServer(t)
	of := func(db redis.Sender) float64 {
		return testing.AllocsPerRun(200, func() {
			if err := redis.Err(redis.SyncCtx{S: db}.Do(context.Background(), "SET", "key", "value")); err != nil {
				t.Error(err)
			}
		})
	}
	plain, failing := of(direct(t, server)), of(over(t, server))
	require.LessOrEqual(t, failing, plain+1, "a pool may be emptied between")
}
