package redis_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/testbed"
)

// In a program that must not compute SHA-1, a script returns an error that says what to do. It does
// not panic.
func TestScriptWithoutSHA1(t *testing.T) {
	const only = "fips140=only"
	if os.Getenv("GODEBUG") != only {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestScriptWithoutSHA1$", "-test.v")
		again.Env = append(os.Environ(), "GODEBUG="+only)
		out, err := again.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "--- PASS: TestScriptWithoutSHA1")
		return
	}
	conn := connectTo(t, testbed.NewServer(t).Addr())
	script := redis.NewScript("return 1")
	for range 2 {
		err := redis.AsErrorx(script.Do(t.Context(), conn, nil))
		require.True(t, err.IsOfType(redis.ErrScriptHash), "%v", err)
		require.ErrorContains(t, err, "ServerHash")
		require.True(t, err.HasTrait(redis.ErrTraitNotSent))
	}
	require.Equal(t, int64(1), redis.NewScript("return 1").ServerHash().Do(t.Context(), conn, nil))
	require.NoError(t, script.Load(t.Context(), conn))
	require.Equal(t, int64(1), script.Do(t.Context(), conn, nil), "the server has told the hash")
}
