package resp_test

import (
	"bufio"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/redis"
)

func TestLimits(t *testing.T) {
	limits := resp.Limits{Line: 40, Bulk: 100, Elements: 4, Depth: 2}
	for _, c := range []struct {
		within, over string
		typ          *errorx.Type
	}{
		{"+" + strings.Repeat("x", 37) + "\r\n", "+" + strings.Repeat("x", 38) + "\r\n", errs.ErrHeaderlineTooLarge},
		{"$100\r\n" + strings.Repeat("x", 100) + "\r\n", "$101\r\n" + strings.Repeat("x", 101) + "\r\n", errs.ErrResponseTooLarge},
		{"*4\r\n_\r\n_\r\n_\r\n_\r\n", "*5\r\n_\r\n_\r\n_\r\n_\r\n_\r\n", errs.ErrResponseTooLarge},
		{"%2\r\n:1\r\n_\r\n:2\r\n_\r\n", "%3\r\n:1\r\n_\r\n:2\r\n_\r\n:3\r\n_\r\n", errs.ErrResponseTooLarge},
		{"*1\r\n*1\r\n_\r\n", "*1\r\n*1\r\n*0\r\n", errs.ErrResponseTooLarge},
	} {
		for _, size := range []int{16, 32, 40, 41, 4096} { // smaller and larger than a line
			_, err := resp.NewDecoder(bufio.NewReaderSize(strings.NewReader(c.within), size), limits).Decode()
			assert.NoError(t, err, "%q, %d", c.within, size)
			_, err = resp.NewDecoder(bufio.NewReaderSize(strings.NewReader(c.over), size), limits).Decode()
			assertType(t, c.typ, err, "%q, %d", c.over, size)
		}
	}
	deep := strings.Repeat("*1\r\n", 128) + "_\r\n"
	res, n := decode(deep)
	assert.NoError(t, redis.AsError(res))
	assert.Equal(t, len(deep), n)
}

// No setting of the limits lets a server overflow the stack.
func TestLimitsOfDepth(t *testing.T) {
	const deep = 10 << 20
	in := bufio.NewReader(strings.NewReader(strings.Repeat("*1\r\n", deep)))
	_, err := resp.NewDecoder(in, resp.Limits{Depth: math.MaxInt}).Decode()
	assertType(t, errs.ErrResponseTooLarge, err)
}

// No setting of the limits lets a server claim a length that overflows an int, which may have 32
// bits.
func TestLimitsOfLengths(t *testing.T) {
	for _, n := range []int{math.MaxInt32 - 12, math.MaxInt32 - 1, math.MaxInt32, math.MaxInt - 1, math.MaxInt} {
		in := fmt.Sprintf("$%d\r\nshort\r\n", n)
		d := resp.NewDecoder(bufio.NewReader(strings.NewReader(in)), resp.Limits{Bulk: math.MaxInt, Elements: math.MaxInt})
		require.NoError(t, d.AwaitMore())
		assert.False(t, d.Complete(), in)
		_, err := d.Decode()
		assertType(t, errs.ErrIO, err, in)
		in = fmt.Sprintf("%%%d\r\n+key\r\n", n/2)
		_, err = resp.NewDecoder(bufio.NewReader(strings.NewReader(in)), resp.Limits{Elements: math.MaxInt}).Decode()
		assertType(t, errs.ErrIO, err, in)
	}
}
