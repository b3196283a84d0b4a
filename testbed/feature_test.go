package testbed

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// use makes a shell script the server of the test.
func use(t *testing.T, script string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "redis-server")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	t.Setenv("REDIS_SERVER", path)
}

// needy is a test that records why it was skipped.
type needy struct {
	testing.TB
	why string
}

func (n *needy) Skipf(format string, args ...any) { n.why = fmt.Sprintf(format, args...) }

func TestVersionFeature(t *testing.T) {
	use(t, `echo "Redis server v=7.0.15 sha=00000000:0"`)
	for f, want := range map[[2]int]bool{{6, 2}: true, {7, 0}: true, {7, 2}: false, {8, 0}: false} {
		has, err := Has(Version(f[0], f[1]))
		require.NoError(t, err)
		assert.Equal(t, want, has, f)
	}
	n := &needy{TB: t}
	Needs(n, Version(6, 2))
	assert.Empty(t, n.why)
	Needs(n, Version(6, 2), Version(8, 0))
	assert.Equal(t, "the server lacks version 8.0", n.why)
}

// Redis and Valkey have their own version numbers.
func TestFeaturesOfOneOfThem(t *testing.T) {
	for text, want := range map[string][]Feature{
		"Redis server v=8.2.3":  nil,
		"Redis server v=8.4.0":  {AtomicMigration},
		"Redis server v=9.0.0":  {AtomicMigration},
		"Valkey server v=8.9.0": nil,
		"Valkey server v=9.0.1": {AtomicMigration, ClusterDatabases},
		"Valkey server v=9.1.0": {AtomicMigration, ClusterDatabases, ClusterScan},
	} {
		use(t, "echo "+text)
		var got []Feature
		for _, f := range []Feature{AtomicMigration, ClusterDatabases, ClusterScan} {
			if has, err := Has(f); assert.NoError(t, err) && has {
				got = append(got, f)
			}
		}
		assert.Equal(t, fmt.Sprint(want), fmt.Sprint(got), text)
	}
}

// A build without TLS reports that with either message. Any other failure is not an answer.
func TestTLSFeature(t *testing.T) {
	const version = `[ "$1" = --version ] && echo "Redis server v=7.2.0 sha=0" && exit 0; `
	for _, says := range []string{">>> 'tls-port 1234'", "# Failed finding TLS support."} {
		use(t, version+`echo "`+says+`"; exit 1`)
		has, err := Has(TLS)
		require.NoError(t, err)
		assert.False(t, has, says)
	}
	use(t, version+"echo broken; exit 1")
	_, err := Has(TLS)
	assert.ErrorContains(t, err, "broken")
	t.Setenv("REDIS_SERVER", "/no/such/redis-server")
	_, err = Has(TLS)
	assert.ErrorIs(t, err, ErrNoBinary)
}

// If Has reports TLS, a server with TLS starts.
func TestTLSFeatureOfServer(t *testing.T) {
	Needs(t, TLS)
	s := NewServer(t, Options{TLS: true})
	assert.NotEmpty(t, s.TLSAddr())
}
