package chaos

import (
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProxyFramerFindsTheEnds(t *testing.T) {
	messages := []string{
		"+OK\r\n", "-ERR no\r\n", ":12\r\n", "$-1\r\n", "$0\r\n\r\n", "$3\r\na\nb\r\n",
		"*-1\r\n", "*0\r\n", "*2\r\n$1\r\na\r\n:1\r\n", "*2\r\n*1\r\n+a\r\n*0\r\n",
		"%1\r\n+k\r\n*1\r\n:1\r\n", "~1\r\n:1\r\n", ">2\r\n+a\r\n+b\r\n", "_\r\n", "#t\r\n",
		",1.5\r\n", "(12\r\n", "=5\r\ntxt:a\r\n", "!3\r\nERR\r\n", "|1\r\n+a\r\n+b\r\n:1\r\n",
		"PING inline\r\n", "\r\n",
	}
	rnd := rand.New(rand.NewSource(1))
	for range 100 {
		rnd.Shuffle(len(messages), func(i, j int) { messages[i], messages[j] = messages[j], messages[i] })
		stream := strings.Join(messages, "")
		var got []string
		var frame proxyFramer
		begin := 0
		for at := 0; at < len(stream); {
			require.Equal(t, begin == at, frame.boundary())
			n, done := frame.feed([]byte(stream[at : at+1+rnd.Intn(len(stream)-at)]))
			if at += n; done {
				got = append(got, stream[begin:at])
				begin = at
			}
		}
		require.Equal(t, messages, got)
	}
}

func TestProxyFramerGivesUpOnGarbage(t *testing.T) {
	for _, in := range []string{"$x\r\n+OK\r\n", "*9999999999999999\r\n+OK\r\n", strings.Repeat("x", proxyMaxLine+1) + "\r\n"} {
		var frame proxyFramer
		n, done := frame.feed([]byte(in))
		require.Equal(t, len(in), n)
		require.False(t, done)
		require.False(t, frame.boundary())
	}
}
