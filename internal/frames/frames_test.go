package frames

import (
	"bufio"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/redis"
)

// What is made of a result decodes to the same.
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
