package sock

import (
	"bufio"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

func TestNonce(t *testing.T) {
	n, other := NewNonce(), NewNonce()
	for _, res := range []any{append([]byte(nil), n[:]...), string(n[:])} {
		require.True(t, n.Is(res))
		require.True(t, Peer{}.Pinged(&n, res))
		require.False(t, Peer{Mute: true}.Pinged(&n, res))
	}
	for _, res := range []any{"PONG", []byte("PONG")} {
		require.False(t, Peer{}.Pinged(&n, res))
		require.True(t, Peer{Mute: true}.Pinged(&n, res))
	}
	for _, res := range []any{nil, "PONG", other[:], n[:15], redis.ErrResult.New("%s", n[:])} {
		require.False(t, n.Is(res), "%v", res)
	}
}

func TestPingRefused(t *testing.T) {
	loading, _ := redis.ReadResponse(bufio.NewReader(strings.NewReader("-LOADING Redis is loading the dataset in memory\r\n")))
	for _, res := range []any{
		redis.ErrResult.New("NOPERM no permissions"), redis.ErrResult.New("NOAUTH Authentication required."),
		redis.ErrResult.New("MISCONF Redis is configured to save RDB snapshots"), loading,
	} {
		require.True(t, PingRefused(res), "%v", res)
	}
	for _, res := range []any{nil, "PONG", []byte("x"), redis.ErrResult.New("ERR unknown command"), redis.ErrIO.New("MISCONF")} {
		require.False(t, PingRefused(res), "%v", res)
	}
}
