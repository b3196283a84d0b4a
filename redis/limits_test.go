package redis

import (
	"bufio"
	"strings"
	"testing"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
)

func TestLimits(t *testing.T) {
	limits := Limits{Line: 40, Bulk: 100, Elements: 4, Depth: 2}
	for _, c := range []struct {
		within, over string
		typ          *errorx.Type
	}{
		{"+" + strings.Repeat("x", 37) + "\r\n", "+" + strings.Repeat("x", 38) + "\r\n", ErrHeaderlineTooLarge},
		{"$100\r\n" + strings.Repeat("x", 100) + "\r\n", "$101\r\n" + strings.Repeat("x", 101) + "\r\n", ErrResponseTooLarge},
		{"*4\r\n_\r\n_\r\n_\r\n_\r\n", "*5\r\n_\r\n_\r\n_\r\n_\r\n_\r\n", ErrResponseTooLarge},
		{"%2\r\n:1\r\n_\r\n:2\r\n_\r\n", "%3\r\n:1\r\n_\r\n:2\r\n_\r\n:3\r\n_\r\n", ErrResponseTooLarge},
		{"*1\r\n*1\r\n_\r\n", "*1\r\n*1\r\n*0\r\n", ErrResponseTooLarge},
	} {
		for _, size := range []int{16, 32, 40, 41, 4096} { // smaller and larger than a line
			_, err := NewDecoder(bufio.NewReaderSize(strings.NewReader(c.within), size), limits).Decode()
			assert.NoError(t, err, "%q, %d", c.within, size)
			_, err = NewDecoder(bufio.NewReaderSize(strings.NewReader(c.over), size), limits).Decode()
			assertType(t, c.typ, err, "%q, %d", c.over, size)
		}
	}
	deep := strings.Repeat("*1\r\n", 128) + "_\r\n"
	res, n := decode(deep)
	assert.NoError(t, AsError(res))
	assert.Equal(t, len(deep), n)
}
