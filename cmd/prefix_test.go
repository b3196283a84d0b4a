package cmd_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/joomcode/redispipe/cmd"
	"github.com/joomcode/redispipe/redis"
)

// Each command is sent through a sender with a prefix, or the sender refuses the command. The reply must
// be readable as the type of the command. In the end, all keys on the server must have the prefix.
func TestRepliesWithPrefix(t *testing.T) {
	conn := live(t, 3) // RESP3 has names in more places
	with := redis.WithPrefix(conn, "t1:")
	sent, refusedCalls := 0, 0
	for _, c := range calls() {
		if c.read == nil {
			require.NoError(t, redis.Batch(t.Context(), with, c.Command))
			continue
		}
		if c.unsent || c.session || c.node || !has(t, conn, c) {
			continue
		}
		err := c.read(context.Background(), with)
		switch failed := redis.AsErrorx(err); {
		case failed.IsOfType(redis.ErrKeysUnknown):
			refusedCalls++
			if strings.HasPrefix(c.words, "FLUSH") { // later calls expect an empty server
				require.NoError(t, c.read(context.Background(), conn))
			}
			continue
		case err != nil && !refused(c, err):
			t.Errorf("%s: %v", c.words, err)
		}
		sent++
		keys, err := Keys("*").Do(t.Context(), conn)
		require.NoError(t, err)
		for _, key := range keys {
			require.True(t, strings.HasPrefix(key, "t1:"), "%s: it leaves %s", c.words, key)
		}
	}
	require.Greater(t, sent, 3*refusedCalls)
	t.Logf("%d calls sent, %d refused", sent, refusedCalls)
}
