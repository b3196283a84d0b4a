package replies

import (
	"bufio"
	"bytes"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/prefix"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/redisvirtual/internal/proto"
)

// words returns an array of strings.
func words(all ...string) string { return string(proto.AppendWords(nil, all)) }

// stripped returns a reply to the command of a client with the prefix "t1:".
func stripped(names prefix.Names, frame string) string {
	f := Flight{to: &Stream{terms: &Terms{Prefix: "t1:"}}, names: []prefix.Names{names}}
	return string(f.strip(0, []byte(frame)))
}

func TestStrip(t *testing.T) {
	for _, c := range []struct {
		names      prefix.Names
		frame, got string
	}{
		{prefix.NoNames, words("t1:a"), words("t1:a")},
		{prefix.InList, words("t1:a", "t1:", "t1:t1:", "t", "b", "t1:0123456"), words("a", "", "t1:", "t", "b", "0123456")},
		{prefix.InList, "~1\r\n$4\r\nt1:a\r\n", "~1\r\n$1\r\na\r\n"},
		{prefix.InFirst, words("t1:a", "t1:a"), words("a", "t1:a")},
		{prefix.InFirst, "*-1\r\n", "*-1\r\n"},
		{prefix.InFirst, "$-1\r\n", "*-1\r\n"},
		{prefix.InFirst, "_\r\n", "_\r\n"},
		{prefix.InFirst, "*2\r\n$4\r\nt1:a\r\n$-1\r\n", "*2\r\n$1\r\na\r\n$-1\r\n"},
		{prefix.InFirst, "-ERR t1:a\r\n", "-ERR t1:a\r\n"},
		{prefix.InScan, "*2\r\n$4\r\nt1:0\r\n" + words("t1:a"), "*2\r\n$4\r\nt1:0\r\n" + words("a")},
		{prefix.InPairs, "*4\r\n$4\r\nt1:a\r\n:1\r\n$4\r\nt1:b\r\n:2\r\n", "*4\r\n$1\r\na\r\n:1\r\n$1\r\nb\r\n:2\r\n"},
		{prefix.InPairs, "%2\r\n$4\r\nt1:a\r\n$4\r\nt1:b\r\n$4\r\nt1:c\r\n:2\r\n", "%2\r\n$1\r\na\r\n$4\r\nt1:b\r\n$1\r\nc\r\n:2\r\n"},
		{prefix.InStreams, "*1\r\n*2\r\n$4\r\nt1:s\r\n" + words("t1:s"), "*1\r\n*2\r\n$1\r\ns\r\n" + words("t1:s")},
		{prefix.InStreams, "%2\r\n$4\r\nt1:s\r\n*0\r\n$4\r\nt1:s\r\n*0\r\n", "%2\r\n$1\r\ns\r\n*0\r\n$1\r\ns\r\n*0\r\n"},
	} {
		require.Equal(t, c.got, stripped(c.names, c.frame), "%d %q", c.names, c.frame)
	}
}

func TestStripTransaction(t *testing.T) {
	f := Flight{to: &Stream{terms: &Terms{Prefix: "t1:"}}, whole: true, names: []prefix.Names{0, prefix.InList, prefix.NoNames, prefix.InFirst, 0}}
	for frame, want := range map[string]string{
		"*3\r\n" + words("t1:a") + "$4\r\nt1:b\r\n*-1\r\n": "*3\r\n" + words("a") + "$4\r\nt1:b\r\n*-1\r\n",
		"*2\r\n" + words("t1:a") + words("t1:a"):           "*2\r\n" + words("t1:a") + words("t1:a"),
		"*-1\r\n":                                          "*-1\r\n",
		"-EXECABORT t1:a\r\n":                              "-EXECABORT t1:a\r\n",
	} {
		require.Equal(t, want, string(f.strip(4, []byte(frame))))
	}
	require.Equal(t, "+QUEUED\r\n", string(f.strip(2, []byte("+QUEUED\r\n"))))
}

// incomparable finds decoded values that can't be compared, maps in which two keys may become one, and strings of kinds
// that no server uses for names.
var incomparable = regexp.MustCompile(`(?m)^[-!=+]|nan|^%([^01]|.[^\r])`)

// The names are the same as those in a decoded reply.
func FuzzStrip(f *testing.F) {
	for names := range byte(prefix.InStreams) + 1 {
		f.Add(names, []byte(words("t1:a", "t1:b")))
		f.Add(names, []byte("%1\r\n$4\r\nt1:a\r\n*2\r\n$4\r\nt1:b\r\n~1\r\n_\r\n"))
		f.Add(names, []byte("*2\r\n$8\r\nt1:t1:ab\r\n*2\r\n$4\r\nt1:b\r\n#t\r\n"))
	}
	f.Fuzz(func(t *testing.T, names byte, in []byte) {
		decoder := func(b []byte) *resp.Decoder {
			return resp.NewDecoder(bufio.NewReader(bytes.NewReader(b)), resp.Limits{})
		}
		frame, _, err := decoder(in).AppendFrame(nil)
		of := prefix.Names(names % byte(prefix.InStreams+1))
		if err != nil || incomparable.Match(frame) || of == prefix.IsName {
			return
		}
		before, err := decoder(frame).Decode()
		if err != nil {
			return // only Decode looks at the types of the keys of a map
		}
		after, err := decoder([]byte(stripped(of, string(frame)))).Decode()
		require.NoError(t, err)
		require.Equal(t, prefix.Prefix("t1:").Strip(of, before), after)
	})
}
