package redisclusterutil

import (
	"testing"

	"github.com/joomcode/redispipe/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestResolve(t *testing.T) {
	for addr, want := range map[string]string{
		"127.0.0.1:6379": "127.0.0.1:6379",
		"[::1]:65000":    "[::1]:65000",
		"127.0.0.1:0":    "127.0.0.1:0",
	} {
		got, err := Resolve(addr)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	local, err := Resolve("localhost:6379")
	require.NoError(t, err)
	assert.Contains(t, []string{"127.0.0.1:6379", "[::1]:6379"}, local)

	for _, addr := range []string{"", ":6379", "127.0.0.1", "host.invalid:6379", "127.0.0.1:99999", "a:b:c"} {
		_, err := Resolve(addr)
		assert.Error(t, err, addr)
	}
	_, err = Resolve(":6379")
	assert.True(t, redis.AsErrorx(err).IsOfType(redis.ErrNoAddressProvided))
}

func TestGetHost(t *testing.T) {
	for addr, want := range map[string]string{
		"redis.example:6379": "redis.example", "127.0.0.1:1": "127.0.0.1", "[::1]:1": "::1", ":1": "",
	} {
		got, err := GetHost(addr)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for _, addr := range []string{"", "host", "::1:1"} {
		_, err := GetHost(addr)
		assert.Error(t, err, addr)
	}
}

func TestIsIPAddress(t *testing.T) {
	for _, addr := range []string{"127.0.0.1", "127.0.0.1:6379", "::1", "[::1]:6379", "[::1]", "fe80::1%eth0"} {
		assert.True(t, IsIPAddress(addr), addr)
	}
	for _, addr := range []string{"", "localhost", "localhost:6379", "1.2.3", ":6379", "300.1.1.1:1"} {
		assert.False(t, IsIPAddress(addr), addr)
	}
}
