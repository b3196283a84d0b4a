package testbed

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLookBinary(t *testing.T) {
	path, err := lookBinary("")
	require.NoError(t, err)

	t.Setenv("REDIS_SERVER", path)
	t.Setenv("PATH", "")
	got, err := lookBinary("")
	require.NoError(t, err)
	assert.Equal(t, path, got)

	t.Setenv("REDIS_SERVER", "")
	_, err = lookBinary("")
	assert.ErrorIs(t, err, ErrNoBinary)
	assert.ErrorContains(t, err, "REDIS_SERVER")
	got, err = lookBinary(path)
	require.NoError(t, err)
	assert.Equal(t, path, got)
}

func TestVersion(t *testing.T) {
	for text, want := range map[string]version{
		"Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=ae4d7c971a948f0": {major: 7},
		"Redis server v=6.2.14 sha=0":  {major: 6, minor: 2},
		"Valkey server v=8.0.1 sha=00": {major: 8, valkey: true},
	} {
		got, err := parseVersion(text)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	_, err := parseVersion("hello")
	assert.Error(t, err)

	sh, err := exec.LookPath("false")
	require.NoError(t, err)
	_, err = versionOf(sh)
	assert.ErrorContains(t, err, "--version")
	_, err = versionOf(filepath.Join(t.TempDir(), "absent"))
	assert.Error(t, err)
}

// RequireRedis ends its process, so the test calls it in another process.
func TestRequireRedis(t *testing.T) {
	out, err := runHelper(t, "require", "REDIS_SERVER=/no/such/redis-server").CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", out)
	assert.Equal(t, 1, exit.ExitCode())
	assert.Contains(t, string(out), "no redis-server")
}
