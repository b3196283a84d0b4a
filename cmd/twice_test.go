package cmd_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/testbed"
)

// Each call whose command is marked as safe to run twice runs twice on a server. The second run must not
// change the data, and must get the same reply, unless the reply counts changes.
func TestCallsThatRunTwice(t *testing.T) {
	conn := connect(t, testbed.NewServer(t, testbed.Options{Config: []string{"enable-debug-command yes"}}), 0)
	run := func(c redis.Command) any { return redis.SyncCtx{S: conn}.Send(t.Context(), c.Request()) }
	digest := func() any {
		res := run(redis.Req("DEBUG", "DIGEST"))
		require.NoError(t, redis.Err(res))
		return fmt.Sprint(res)
	}
	twice := map[string]bool{}
	caught := 0 // calls that are not marked so, and that change the data when they run again
	plain := []call{
		before("SET", "e", "v"),
		{Command: redis.Req("EXPIREAT", "e", at.Unix()), words: "EXPIREAT e"},
		{Command: redis.Req("PEXPIREAT", "e", at.UnixMilli()), words: "PEXPIREAT e"},
	}
	for _, c := range append(calls(), plain...) {
		if c.unsent || c.session || c.node || c.words != "" && !has(t, conn, c) {
			continue
		}
		req := c.Request()
		call := command.Of(req.Cmd, req.Args)
		first := run(c)
		if redis.Err(first) != nil || c.words == "" {
			continue
		}
		after := digest()
		if !call.RunsTwice(true) {
			if name := call.Name; name == "INCR" || name == "RPUSH" || name == "APPEND" || name == "ZINCRBY" {
				run(c)
				if digest() != after {
					caught++
				}
			}
			continue
		}
		second := run(c)
		assert.Equal(t, after, digest(), "%s: the data after it has run twice", c.words)
		if !call.RunsTwice(false) {
			_, counts := first.(int64)
			assert.True(t, counts || reflect.DeepEqual(first, second), "%s: %v, and then %v", c.words, first, second)
			twice[call.Name] = true
		}
	}
	for _, name := range []string{
		"SET", "SETEX", "PSETEX", "MSET", "EXPIREAT", "PEXPIREAT", "SETRANGE", "DEL", "UNLINK", "HSET", "HMSET", "HDEL", "LSET", "SADD", "SREM", "ZADD", "ZREM",
	} {
		assert.True(t, twice[name], "no call of %s has run twice", name)
	}
	require.Positive(t, caught, "what adds to what is there is noticed")
}
