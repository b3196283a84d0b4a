package resp_test

import (
	"bufio"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/resp"
)

// AppendFrame returns exactly one reply, and leaves the bytes after it in the reader.
func TestAppendFrame(t *testing.T) {
	for _, frame := range []string{
		"+OK\r\n", "+queued up\r\n", ":12\r\n", ":-12\r\n", "$0\r\n\r\n", "$3\r\na\r\n\r\n", "$-1\r\n", "*-1\r\n", "*0\r\n",
		"*3\r\n$1\r\na\r\n*2\r\n:1\r\n$-1\r\n-ERR in\r\n", "_\r\n", "#t\r\n", ",1.5\r\n", "(123456789012345678901234567890\r\n",
		"=5\r\ntxt:a\r\n", "%1\r\n$1\r\nk\r\n~1\r\n:1\r\n", "$100000\r\n" + strings.Repeat("x", 100000) + "\r\n",
	} {
		for _, size := range []int{16, 1 << 18} {
			d := resp.NewDecoder(bufio.NewReaderSize(strings.NewReader(frame+"+next\r\n"), size), resp.Limits{})
			if _, err := d.Next(); err != nil {
				t.Fatal(err)
			}
			got, refused, err := d.AppendFrame([]byte("before"))
			require.NoError(t, err, frame)
			require.Nil(t, refused, frame)
			require.Equal(t, "before"+frame, string(got))
			require.Equal(t, len(frame), d.Size())
			next, err := d.Decode()
			require.NoError(t, err)
			require.Equal(t, "next", next)
		}
	}
}

// An error of the server is returned together with its frame.
func TestAppendFrameRefused(t *testing.T) {
	for _, frame := range []string{"-MOVED 1 127.0.0.1:7000\r\n", "!29\r\nMOVED 1 127.0.0.1:7000 \r\n and\r\n"} {
		d := resp.NewDecoder(bufio.NewReader(strings.NewReader(frame)), resp.Limits{})
		got, refused, err := d.AppendFrame(nil)
		require.NoError(t, err)
		require.NotNil(t, refused)
		require.Equal(t, frame, string(got))
	}
}

// AppendFrame leaves out attributes, which answer no request.
func TestAppendFrameAttributes(t *testing.T) {
	in := "|1\r\n+ttl\r\n:3\r\n*2\r\n|1\r\n+a\r\n:1\r\n:1\r\n:2\r\n"
	d := resp.NewDecoder(bufio.NewReader(strings.NewReader(in)), resp.Limits{})
	got, _, err := d.AppendFrame(nil)
	require.NoError(t, err)
	require.Equal(t, "*2\r\n:1\r\n:2\r\n", string(got))
}

// AppendFrame accepts the same replies as Decode.
func FuzzAppendFrame(f *testing.F) {
	for _, seed := range []string{"+OK\r\n", "$3\r\nabc\r\n", "*2\r\n:1\r\n_\r\n", "%1\r\n+a\r\n:1\r\n", "|1\r\n+a\r\n:1\r\n:2\r\n", "=5\r\ntxt:a\r\n", "!3\r\nERR\r\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		limits := resp.Limits{Line: 64, Bulk: 1 << 16, Elements: 1 << 10, Depth: 8}
		of := func(s string) *resp.Decoder {
			return resp.NewDecoder(bufio.NewReaderSize(strings.NewReader(s), 16), limits)
		}
		d, plain := of(in), of(in)
		frame, _, err := d.AppendFrame(nil)
		want, wantErr := plain.Decode()
		if wantErr != nil && err == nil {
			if strings.Contains(wantErr.Error(), "map key") {
				return // only Decode refuses a value that can't be a map key
			}
		}
		require.Equal(t, wantErr == nil, err == nil, "%v %v", wantErr, err)
		if err != nil {
			return
		}
		require.Equal(t, plain.Size(), d.Size())
		got, err := of(string(frame)).Decode()
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(want), fmt.Sprint(got))
	})
}
