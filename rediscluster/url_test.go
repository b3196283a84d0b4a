package rediscluster_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
)

func TestParseURL(t *testing.T) {
	addrs, opts, err := rediscluster.ParseURL("rediss://me:p%40ss@a:1?addr=b&addr=[::1]:3&max_redirects=5&read_timeout=2")
	require.NoError(t, err)
	require.Equal(t, []string{"a:1", "b:6379", "[::1]:3"}, addrs)
	require.Equal(t, rediscluster.Opts{
		HostOpts:     redisconn.Opts{Username: "me", Password: "p@ss", TLSEnabled: true, IOTimeout: 2 * time.Second},
		MovedRetries: 5,
	}, opts)
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		require.NotContains(t, fmt.Sprintf(format, opts), "p@ss", format)
		require.NotContains(t, fmt.Sprintf(format, &opts), "p@ss", format)
	}
}

func TestParseURLErrors(t *testing.T) {
	for url, want := range map[string]string{
		"redis://:canary":               "port",
		"redis://a/1":                   "database 0",
		"redis://a?read_only=true":      "WithPolicy",
		"unix:///canary":                "host:port",
		"redis-sentinel://a/canary":     "host:port",
		"redis://a?route_by_latency=1":  "unknown",
		"redis://:canary@a?db=1&addr=b": "database 0",
	} {
		addrs, _, err := rediscluster.ParseURL(url)
		require.Nil(t, addrs)
		require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrURL), "%v", err)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "canary")
	}
}
