package dial

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

func TestAddresses(t *testing.T) {
	for addr, want := range map[string]Address{
		"host:6379":           {"host:6379", "tcp", "host:6379", "host"},
		"tcp://host:1":        {"tcp://host:1", "tcp", "host:1", "host"},
		"127.0.0.1:65535":     {"127.0.0.1:65535", "tcp", "127.0.0.1:65535", "127.0.0.1"},
		"[::1]:6379":          {"[::1]:6379", "tcp", "[::1]:6379", "::1"},
		"tcp://[fe80::1%1]:1": {"tcp://[fe80::1%1]:1", "tcp", "[fe80::1%1]:1", "fe80::1%1"},
		":6379":               {":6379", "tcp", ":6379", ""},
		"unix:///tmp/r.sock":  {"unix:///tmp/r.sock", "unix", "/tmp/r.sock", ""},
		"unix://r.sock":       {"unix://r.sock", "unix", "r.sock", ""},
		"/tmp/r.sock":         {"/tmp/r.sock", "unix", "/tmp/r.sock", ""},
		"./r.sock":            {"./r.sock", "unix", "./r.sock", ""},
		"../r.sock":           {"../r.sock", "unix", "../r.sock", ""},
		".":                   {".", "unix", ".", ""},
		"/":                   {"/", "unix", "/", ""},
	} {
		got, err := ParseAddress(addr)
		require.NoError(t, err, addr)
		require.Equal(t, want, got, addr)
	}
}

func FuzzAddress(f *testing.F) {
	f.Add("tcp://[::1%lo]:1")
	f.Add("unix://\x00")
	f.Fuzz(func(t *testing.T, addr string) {
		got, err := ParseAddress(addr)
		if err != nil {
			require.NotNil(t, redis.AsErrorx(err))
			return
		}
		require.NotEmpty(t, got.addr)
		require.Contains(t, []string{addr, "tcp", "unix"}, got.network)
	})
}
