package proto

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
)

// Scan finds the same requests, no matter into which pieces they are cut.
func FuzzScan(f *testing.F) {
	f.Add([]byte("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*1\r\n$4\r\nPING\r\nrest"), 3)
	f.Add([]byte("*1\r\n$4\r\nPING\r\n"), 0)
	f.Add([]byte("*-1\r\n*0\r\n*1\r\n$0\r\n\r\n"), 1)
	f.Add([]byte("*1\r\n$-0\r\n\r\n"), 1)
	f.Add([]byte("*"), 0)
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		var whole, pieces Scan
		end, request, p := whole.Next(in)
		cut = max(0, min(cut, len(in)))
		e, r, pr := pieces.Next(in[:cut])
		if e == 0 && pr == NoProblem {
			e, r, pr = pieces.Next(in)
		}
		require.Equal(t, p, pr)
		require.Equal(t, end, e)
		require.Equal(t, request, r)
		require.LessOrEqual(t, end, len(in))
		if request != nil {
			require.Equal(t, len(Words(request))+1, (&send.Request{Buf: request}).Words())
			require.LessOrEqual(t, len(Name(request)), len(request))
		}
	})
}

// A request that is larger than servers accept is refused, even if it comes complete in one piece.
func TestScanBounds(t *testing.T) {
	const word = "$400000000\r\n"
	buf := make([]byte, len("*3\r\n")+3*(len(word)+400000000+2)) // only touched pages take memory
	at := copy(buf, "*3\r\n")
	for range 3 {
		at += copy(buf[at:], word) + 400000000
		at += copy(buf[at:], "\r\n")
	}
	_, request, p := new(Scan).Next(buf)
	require.Equal(t, longInput, p)
	require.Nil(t, request)
}

func FuzzInline(f *testing.F) {
	f.Add([]byte("set k \"v \\x41\\n\" 'q\\''\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		end, encoded, p := inline(in)
		require.LessOrEqual(t, end, len(in))
		if encoded != nil {
			require.Equal(t, NoProblem, p)
			var s Scan
			n, empty, p := s.array(encoded)
			require.Equal(t, NoProblem, p)
			require.False(t, empty)
			require.Len(t, encoded, n)
		}
	})
}
