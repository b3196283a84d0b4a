package redisurl

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestParseEndpoint(t *testing.T) {
	cases := []struct {
		in   string
		host string
		port int
		ok   bool
	}{
		{"127.0.0.1:6379", "127.0.0.1", 6379, true},
		{"::1:6379", "::1", 6379, true},
		{"[::1]:6379", "::1", 6379, true},
		{":6379", "", 6379, true},
		{"redis.example:65535", "redis.example", 65535, true},
		{"foo", "", 0, false},
		{"", "", 0, false},
		{"host:", "", 0, false},
		{"host:0", "host", 0, true},
		{"host:-1", "", 0, false},
		{"host:65536", "", 0, false},
		{"host:12x", "", 0, false},
		{"ho st:12", "", 0, false},
		{"unix:///tmp/x:12", "", 0, false},
	}
	for _, c := range cases {
		host, port, ok := ParseEndpoint(c.in)
		assert.Equal(t, c.ok, ok, c.in)
		if c.ok {
			assert.Equal(t, c.host, host, c.in)
			assert.Equal(t, c.port, port, c.in)
		}
	}
}
