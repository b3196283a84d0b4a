package resp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/redis"
)

// The error of a reply that does not parse begins with the type of the offending value.
func TestErrorsNameTheType(t *testing.T) {
	within := map[string]byte{ // the offending value is inside of another one
		"*1\r\n/\r\n": '/', ">1\r\n/\r\n": '/', "*2\r\n$1\r\nabc:1\r\n": '$', "*1\r\n>1\r\n:1\r\n:1\r\n": '>',
	}
	for _, c := range hostileReplies {
		if c.typ == errs.ErrIO {
			continue
		}
		want, nested := within[c.text]
		if !nested {
			want = c.text[0]
		}
		res, _ := decode(c.text)
		err := redis.AsErrorx(res)
		assert.True(t, strings.HasPrefix(err.Message(), fmt.Sprintf("%q: ", want)), "%.40q: %s", c.text, err)
		if line, ok := err.Property(errs.EKLine); ok {
			assert.Equal(t, want, line.([]byte)[0], "%.40q", c.text)
		}
	}
	res, _ := decode("-MOVED x 127.0.0.1:1\r\n")
	assert.True(t, strings.HasPrefix(redis.AsErrorx(res).Message(), "'-': malformed slot"))
}
