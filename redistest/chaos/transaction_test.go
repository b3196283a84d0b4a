package chaos_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisdumb"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// A request that the proxy refuses aborts its transaction, like a request that the server refuses.
func TestRefusedTransaction(t *testing.T) {
	server := testbed.NewServer(t)
	proxy := chaos.NewProxy(t, server.Addr(), chaos.ProxyOpts{})
	proxy.Arm(chaos.ReadOnly())
	client := &redisdumb.Conn{Addr: proxy.Addr(), Timeout: time.Minute}
	defer client.Close()
	_, err := redis.Sync{S: client}.SendTransaction([]redis.Request{redis.Req("GET", "k"), redis.Req("SET", "k", "v")})
	require.ErrorContains(t, err, "EXECABORT")
	require.Nil(t, client.Do("GET", "k"))
	proxy.Heal()
	require.Equal(t, "OK", client.Do("SET", "k", "v"))
}
