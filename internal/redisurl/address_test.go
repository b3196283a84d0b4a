package redisurl_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/internal/redisurl"
)

// What may hold a secret is in TestT21Addresses of package torture.
func TestMayHoldSecret(t *testing.T) {
	for _, addr := range []string{
		"", "host", "host:6379", ":6379", "host:", "host:http", "host.local.:1", "my_host-1:1", "host:-1", "127.0.0.1:6379",
		"[::1]:6379", "[fe80::1%eth0]:6379", "tcp://host:6379", "tcp://[::1]:1", "хост:1",
		"/run/redis.sock", "./redis.sock", "../a", "/run/user@1000.service/redis.sock", "/a?b", "/a=b,c",
		"unix:///run/redis.sock", "unix:///run/user@1000.service/redis.sock", "unix://./a@b", "unix://redis.sock",
		"unix://@abstract", "unix://", "tcp://",
	} {
		assert.False(t, redisurl.MayHoldSecret(addr), addr)
	}
	for _, addr := range []string{
		"://", "redis://host", "user@host:1", "@host:1", "unix://a@b", "unix://@a@b", "unix:///a?b", "//a@b/c", "unix:////a@b",
		"host:1,db=2", "host;1", "host:1:2", "::1", "::1:6379", "[::1]", "host/1:1", "host:1/0", "ho st:1", "host:1\n", "tcp://a@b:1",
		"a\xff:1", "a\u009b:1", "a\u2028:1", "\u202ea:1",
	} {
		assert.True(t, redisurl.MayHoldSecret(addr), addr)
	}
}
