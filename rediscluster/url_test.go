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
	one, _, err := rediscluster.ParseURL("redis-cluster://a")
	require.NoError(t, err)
	require.Equal(t, []string{"a:6379"}, one)
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
		"redis://:canary":              "port",
		"redis://a?read_only=true":     "WithPolicy",
		"unix:///canary":               "host:port",
		"redis-sentinel://a/canary":    "ParseSentinelURL",
		"redis-replicated://:canary@a": "ParseReplicatedURL",
		"redis://a?route_by_latency=1": "unknown",
		"redis-cluster://:canary@a/-1": "database",
	} {
		addrs, _, err := rediscluster.ParseURL(url)
		require.Nil(t, addrs)
		require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrURL), "%v", err)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "canary")
	}
}

func TestParseReplicatedURL(t *testing.T) {
	addrs, opts, err := rediscluster.ParseReplicatedURL("rediss-replicated://me:p%40ss@a,b:1/3?read_timeout=2")
	require.NoError(t, err)
	require.Equal(t, []string{"a:6379", "b:1"}, addrs)
	require.Equal(t, rediscluster.Opts{
		HostOpts: redisconn.Opts{DB: 3, Username: "me", Password: "p@ss", TLSEnabled: true, IOTimeout: 2 * time.Second},
	}, opts)
	for url, want := range map[string]string{
		"canary":            "does not begin",
		"redis://:canary@a": "redis-replicated",
		"redis-replicated://:canary@a?read_only=1":     "WithPolicy",
		"redis-replicated://:canary@a?max_redirects=3": "clusters",
	} {
		_, _, err := rediscluster.ParseReplicatedURL(url)
		require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrURL), "%v", err)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "canary")
	}
}

func TestParseSentinelURL(t *testing.T) {
	addrs, master, opts, err := rediscluster.ParseSentinelURL(
		"rediss-sentinel://me:p%40ss@a,b:1/main/3?sentinel_username=su&sentinel_password=sp%40ss&read_timeout=2")
	require.NoError(t, err)
	require.Equal(t, []string{"a:26379", "b:1"}, addrs)
	require.Equal(t, "main", master)
	require.Equal(t, rediscluster.Opts{
		HostOpts:     redisconn.Opts{DB: 3, Username: "me", Password: "p@ss", TLSEnabled: true, IOTimeout: 2 * time.Second},
		SentinelOpts: redisconn.Opts{Username: "su", Password: "sp@ss", TLSEnabled: true, IOTimeout: 2 * time.Second},
	}, opts)
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		require.NotContains(t, fmt.Sprintf(format, opts), "p@ss", format)
	}
	// As in go-redis, the user before the host is the user for the sentinels.
	addrs, master, opts, err = rediscluster.ParseSentinelURL("redis://su:sp%40ss@a:1/3?master_name=main&addr=b:2&addr=c:3" +
		"&username=me&password=p%40ss&read_timeout=2&route_by_latency=true&pool_size=10&replica_only=false&context_timeout_enabled=true")
	require.NoError(t, err)
	require.Equal(t, []string{"a:1", "b:2", "c:3"}, addrs)
	require.Equal(t, "main", master)
	require.Equal(t, rediscluster.Opts{
		HostOpts:     redisconn.Opts{DB: 3, Username: "me", Password: "p@ss", IOTimeout: 2 * time.Second},
		SentinelOpts: redisconn.Opts{Username: "su", Password: "sp@ss", IOTimeout: 2 * time.Second},
	}, opts)
	_, _, opts, err = rediscluster.ParseSentinelURL("rediss://a?master_name=main")
	require.NoError(t, err)
	require.True(t, opts.HostOpts.TLSEnabled && opts.SentinelOpts.TLSEnabled)
	for url, want := range map[string]string{
		"redis://:canary@a?master_name=m&replica_only=1": "WithPolicy",
		"redis://a":                              "redis-sentinel",
		"redis-sentinel://:canary@a":             "no master",
		"redis-sentinel://a/m?read_only=true":    "WithPolicy",
		"redis-sentinel://a/m?max_redirects=3":   "clusters",
		"redis-sentinel://:canary@a/m?nothing=1": "unknown",
	} {
		_, _, _, err := rediscluster.ParseSentinelURL(url)
		require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrURL), "%v", err)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "canary")
	}
}
