package proto

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Frames counts the same number of frames no matter into which pieces the stream is cut.
func TestFrames(t *testing.T) {
	for _, c := range []struct {
		requests bool
		frames   []string
	}{
		{false, []string{
			"+OK\r\n", "-ERR no\r\n", ":1\r\n", "$-1\r\n", "$0\r\n\r\n", "$4\r\n\r\n*1\r\n", "*0\r\n", "*-1\r\n", "_\r\n",
			"*3\r\n$1\r\na\r\n*2\r\n:1\r\n:2\r\n$-1\r\n", "%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n+c\r\n", "%0\r\n", "~1\r\n#t\r\n",
			">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n", "|1\r\n+ttl\r\n:1\r\n*1\r\n+a\r\n", "=7\r\ntxt:abc\r\n", "!5\r\nERR a\r\n",
			"*2\r\n|1\r\n+a\r\n*1\r\n:1\r\n:2\r\n:3\r\n", ",1.5\r\n", "(12345678901234567890\r\n",
			"$" + "40000\r\n" + strings.Repeat("\r\n+x\r", 8000) + "\r\n",
		}},
		{true, []string{"*1\r\n$4\r\nPING\r\n", "PING\r\n", "PING a\n", "*2\r\n$3\r\nGET\r\n$0\r\n\r\n"}},
	} {
		all := strings.Join(c.frames, "")
		for _, piece := range []int{1, 2, 3, 7, 4096, len(all)} {
			f, ended := Frames{Requests: c.requests}, 0
			for rest := []byte(all); len(rest) > 0; {
				n := min(piece, len(rest))
				ended += f.Count(rest[:n])
				rest = rest[n:]
				want, end := 0, 0
				for ; want < len(c.frames) && end+len(c.frames[want]) <= len(all)-len(rest); want++ {
					end += len(c.frames[want])
				}
				require.Equal(t, want, ended, "%q", all[:min(len(all)-len(rest), 400)])
				require.Equal(t, end == len(all)-len(rest), f.Complete())
			}
		}
	}
	empty := Frames{Requests: true}
	require.Zero(t, empty.Count([]byte("\r\n\n*0\r\n*-1\r\n")))
	require.True(t, empty.Complete())
	require.Equal(t, 1, empty.Count([]byte("PING\r\n")))
	for _, wrong := range []string{"*x\r\n", "$99999999999999999999\r\n"} {
		f := Frames{}
		require.Equal(t, 1, f.Count([]byte(wrong)))
		require.Equal(t, 1, f.Count([]byte("anything")))
	}
}
