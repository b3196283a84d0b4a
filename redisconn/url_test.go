package redisconn_test

import (
	"crypto/tls"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

func TestParseURL(t *testing.T) {
	for url, want := range map[string]struct {
		addr string
		opts redisconn.Opts
	}{
		"redis://": {"localhost:6379", redisconn.Opts{}},
		"redis://me:p%40ss@host:1/2?protocol=3&read_only=1": {
			"host:1", redisconn.Opts{Username: "me", Password: "p@ss", DB: 2, Protocol: 3, ReadOnly: true},
		},
		"valkeys://host?dial_timeout=3&read_timeout=2s&write_timeout=1": {
			"host:6379", redisconn.Opts{TLSEnabled: true, DialTimeout: 3 * time.Second, IOTimeout: 2 * time.Second},
		},
		"redis://host?client_name=billing&libraryName=x": {"host:6379", redisconn.Opts{ClientName: "billing"}},
		"redis://host?write_timeout=1":                   {"host:6379", redisconn.Opts{IOTimeout: time.Second}},
		"redis://host?read_timeout=0":                    {"host:6379", redisconn.Opts{IOTimeout: -1}},
		"rediss://host?skip_verify=true": {"host:6379", redisconn.Opts{
			TLSEnabled: true, TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true},
		}},
		"unix:///run/redis.sock?db=1": {"/run/redis.sock", redisconn.Opts{DB: 1}},
	} {
		addr, opts, err := redisconn.ParseURL(url)
		require.NoError(t, err, url)
		require.Equal(t, want.addr, addr, url)
		require.Equal(t, want.opts, opts, url)
	}
}

func TestParseURLErrors(t *testing.T) {
	for url, want := range map[string]string{
		"canary":                          "does not begin",
		"redis://a?addr=canary":           "rediscluster",
		"redis://a,canary":                "rediscluster",
		"redis://a?max_redirects=3":       "max_redirects",
		"redis-sentinel://:canary@a/main": "sentinels",
		"redis-cluster://:canary@a":       "rediscluster",
		"redis-replicated://:canary@a":    "ParseReplicatedURL",
		"redis://:canary@a?canary=":       "unknown",
	} {
		addr, opts, err := redisconn.ParseURL(url)
		requireType(t, err, redis.ErrURL)
		require.ErrorContains(t, err, want)
		require.NotContains(t, strings.ReplaceAll(err.Error(), `"canary" is unknown`, ""), "canary", "but for a parameter's name")
		require.Empty(t, addr)
		require.Equal(t, redisconn.Opts{}, opts)
	}
}

// Connect reaches the server of each kind of URL.
func TestConnectByURL(t *testing.T) {
	testbed.Needs(t, testbed.TLS)
	s := testbed.NewServer(t, testbed.Options{Password: "s3 cret/?#@%", Unix: true, TLS: true})
	const user = "default:s3%20cret%2F%3F%23%40%25@"
	for _, url := range []string{
		"redis://" + user + s.Addr() + "/3?dial_timeout=5&read_timeout=5s",
		"rediss://" + user + s.TLSAddr() + "/3?skip_verify=true",
		"unix://" + user + s.UnixPath() + "?db=3",
	} {
		addr, opts, err := redisconn.ParseURL(url)
		require.NoError(t, err)
		opts.Logger = redisconn.NoopLogger{}
		conn, err := redisconn.Connect(t.Context(), addr, opts)
		require.NoError(t, err)
		require.Contains(t, fmt.Sprintf("%s", redis.Sync{S: conn}.Do("CLIENT", "LIST")), " db=3 ")
		conn.Close()
	}
}
