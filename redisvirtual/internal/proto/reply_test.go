package proto

import (
	"bufio"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/redis"
)

// An encoded result decodes to the same value.
func TestAppendResult(t *testing.T) {
	big1, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	for _, res := range []any{
		nil, "fine", "two\r\nlines", []byte("a\r\nb"), []byte{}, int64(-5), true, false, 1.5, big1,
		[]any{}, []any{int64(1), []any{[]byte("x"), nil}}, map[string]any{"a": int64(1), "b": []any{true}},
	} {
		for _, protocol := range []int{2, 3} {
			d := resp.NewDecoder(bufio.NewReader(strings.NewReader(string(AppendResult(nil, res, protocol))+"+end\r\n")), resp.Limits{})
			got, err := d.Decode()
			require.NoError(t, err)
			if res == "two\r\nlines" {
				res = []byte("two\r\nlines")
			}
			require.Equal(t, res, got)
			got, err = d.Decode()
			require.NoError(t, err)
			require.Equal(t, "end", got)
		}
	}
	require.Equal(t, "$-1\r\n_\r\n", string(AppendResult(AppendResult(nil, nil, 2), nil, 3)))
	require.Equal(t, "-ERR no way\r\n", string(AppendResult(nil, redis.ErrResult.New("ERR no way"), 2)))
	require.Equal(t, "$-1\r\n", string(AppendResult(nil, redis.ErrExecEmpty.New("empty"), 2)))
	require.Equal(t, "-ERR a  b\r\n", string(AppendError(nil, "ERR a\r\nb")))
	require.Equal(t, "*2\r\n$3\r\nGET\r\n$0\r\n\r\n", string(AppendWords(nil, []string{"GET", ""})))
}

// FuzzAppendResult encodes decoded replies again, and requires that they decode to the same value.
func FuzzAppendResult(f *testing.F) {
	for _, reply := range []string{
		"$-1\r\n", "_\r\n", "+fine\r\n", "$4\r\na\r\nb\r\n", "=6\r\ntxt:\r\n\r\n", ":-5\r\n", "#t\r\n", ",nan\r\n", ",-inf\r\n",
		"(123456789012345678901234567890\r\n", "*2\r\n:1\r\n*0\r\n", "%1\r\n+a\r\n~1\r\n+b\r\n", "-MOVED 1 :1\r\n", "!3\r\na\nb\r\n",
	} {
		f.Add(reply, true)
	}
	decode := func(text string) (any, error) {
		return resp.NewDecoder(bufio.NewReader(strings.NewReader(text)), resp.Limits{Elements: 1000, Depth: 10}).Decode()
	}
	f.Fuzz(func(t *testing.T, reply string, old bool) {
		res, err := decode(reply)
		if err != nil || len(reply) > 4096 { // the text of an error is cut if it is long
			return
		}
		protocol := 3
		if old {
			protocol = 2
		}
		first := AppendResult(nil, res, protocol)
		again, err := decode(string(first))
		require.NoError(t, err, "%q", first)
		second, err := decode(string(AppendResult(nil, again, protocol)))
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("%q", again), fmt.Sprintf("%q", second))
		if !strings.Contains(reply, "!") { // AppendResult writes an error as one line, but a reply of the type '!' may have several
			require.Equal(t, fmt.Sprintf("%q", res), fmt.Sprintf("%q", again))
		}
	})
}
