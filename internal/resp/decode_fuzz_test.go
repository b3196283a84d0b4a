package resp_test

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/redis"
)

func addReplies(f *testing.F) {
	for _, c := range validReplies {
		f.Add(c.text, uint64(len(c.text)))
	}
	for i, c := range hostileReplies {
		f.Add(c.text[:min(len(c.text), 200)], uint64(i))
	}
	f.Add(",9223372036854775700\r\n", uint64(0)) // fits into an int64, but the nearest float64 does not
	f.Add(","+strings.Repeat("9", 401)+"\r\n:1\r\n", uint64(3))
	f.Add(",1.764288e+18\r\n", uint64(4))
	f.Add("$12\r\n1.764288e+18\r\n", uint64(5))
	f.Add("$100\r\n"+strings.Repeat("x", 100)+"\r\n", uint64(1))
	f.Add("%2\r\n$1\r\na\r\n!5\r\nERR x\r\n+b\r\n-MOVED 1 :1\r\n", uint64(2))
}

// pieces is a reader that delivers a text in pieces of random sizes.
type pieces struct {
	text string
	rnd  *rand.Rand
}

func (p *pieces) Read(buf []byte) (int, error) {
	if p.text == "" {
		return 0, io.EOF
	}
	n := copy(buf, p.text[:min(len(p.text), 1+p.rnd.IntN(20))])
	p.text = p.text[n:]
	return n, nil
}

// FuzzDecode checks that a reply decodes to the same value no matter in which pieces it arrives and
// how large the buffer is, and that the value can be encoded and decoded again.
func FuzzDecode(f *testing.F) {
	addReplies(f)
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		limits := resp.Limits{Line: 300, Bulk: 5000, Elements: 1000, Depth: 10}
		rnd := rand.New(rand.NewPCG(seed, 0))
		d := resp.NewDecoder(bufio.NewReaderSize(strings.NewReader(text), len(text)+16), limits)
		_ = d.AwaitMore() // the whole reply, to compare a reply that is at hand with one that comes in pieces
		res, err := d.Decode()
		require.LessOrEqual(t, d.Size(), len(text))
		for range 3 {
			r := bufio.NewReaderSize(&pieces{text, rnd}, 16+rnd.IntN(400))
			d2 := resp.NewDecoder(r, limits)
			res2, err2 := d2.Decode()
			require.Equal(t, describeReply(res, err), describeReply(res2, err2), "%q", text)
			if err == nil { // after an error, the buffer decides how many bytes were consumed
				if err == nil {
					require.Equal(t, d.Size(), d2.Size(), "%q", text)
				}
			}
		}
		if len(text) <= 60<<10 {
			checkComplete(t, text)
		}
		checkTyped(t, text, limits, rnd, res, err)
		if err == nil {
			again, n := decodeWhole(t, string(appendReply(nil, res)))
			require.Equal(t, describeReply(res, nil), describeReply(again, nil), "%q", text)
			require.Positive(t, n)
		}
	})
}

func decodeWhole(t *testing.T, text string) (any, int) {
	t.Helper()
	d := resp.NewDecoder(bufio.NewReader(strings.NewReader(text)), resp.Limits{})
	res, err := d.Decode()
	require.NoError(t, err, "%q", text)
	require.Equal(t, len(text), d.Size())
	return res, d.Size()
}

// describeReply returns a comparable description of a reply: errors and NaN are not comparable.
func describeReply(res any, err error) string {
	switch typed := redis.AsErrorx(err); {
	case typed != nil:
		return "error " + typed.Type().FullName()
	case redis.AsErrorx(res) != nil:
		return fmt.Sprintf("reply %q", redis.AsErrorx(res).Error())
	}
	switch v := res.(type) {
	case []any:
		texts := make([]string, len(v))
		for i, el := range v {
			texts[i] = describeReply(el, nil)
		}
		return fmt.Sprintf("array %s", texts)
	case map[string]any:
		texts := make(map[string]string, len(v))
		for key, el := range v {
			texts[strconv.Quote(key)] = describeReply(el, nil)
		}
		return fmt.Sprintf("map %s", texts)
	}
	return fmt.Sprintf("%T %#v", res, fmt.Sprint(res))
}

// appendReply encodes a result as a server would.
func appendReply(buf []byte, res any) []byte {
	switch v := res.(type) {
	case nil:
		return append(buf, "_\r\n"...)
	case string:
		if strings.ContainsAny(v, "\r\n") {
			return fmt.Appendf(buf, "=%d\r\ntxt:%s\r\n", len(v)+4, v)
		}
		return fmt.Appendf(buf, "+%s\r\n", v)
	case []byte:
		return fmt.Appendf(buf, "$%d\r\n%s\r\n", len(v), v)
	case int64:
		return fmt.Appendf(buf, ":%d\r\n", v)
	case float64:
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if math.IsInf(v, 0) || math.IsNaN(v) {
			text = strings.TrimPrefix(strings.ToLower(text), "+")
		}
		return fmt.Appendf(buf, ",%s\r\n", text)
	case bool:
		return fmt.Appendf(buf, "#%.1s\r\n", strconv.FormatBool(v))
	case *big.Int:
		return fmt.Appendf(buf, "(%s\r\n", v)
	case []any:
		buf = fmt.Appendf(buf, "*%d\r\n", len(v))
		for _, el := range v {
			buf = appendReply(buf, el)
		}
		return buf
	case map[string]any:
		buf = fmt.Appendf(buf, "%%%d\r\n", len(v))
		for key, el := range v {
			buf = appendReply(appendReply(buf, []byte(key)), el)
		}
		return buf
	}
	err := redis.AsErrorx(res)
	text := err.Message()
	if line, ok := err.Property(errs.EKLine); ok { // a malformed redirect
		text = string(line.([]byte))
	}
	return fmt.Appendf(buf, "!%d\r\n%s\r\n", len(text), text)
}

// checkTyped checks that a reply that is read into a variable has the value that As returns.
func checkTyped(t *testing.T, text string, limits resp.Limits, rnd *rand.Rand, res any, decodeErr error) {
	into := func(dst any, value any, asErr error) {
		sc := resp.Scalar{Kind: resp.KindOf(dst), Bytes: make([]byte, 0, rnd.IntN(200))}
		d := resp.NewDecoder(bufio.NewReaderSize(&pieces{text, rnd}, 16+rnd.IntN(400)), limits)
		got, filled, err := d.DecodeScalar(&sc)
		require.Equal(t, describeReply(nil, decodeErr), describeReply(nil, err), "%q", text)
		if err != nil {
			require.False(t, filled, "%q", text)
			return
		}
		if filled {
			require.Nil(t, got)
			sc.Store(dst)
		} else {
			err = asInto(dst, got)
		}
		_, isInt := res.(int64)
		float, isFloat := res.(float64)
		if _, toInt := dst.(*int64); toInt && isFloat && math.Abs(float) >= 1<<53 {
			return // the server's text has more digits than the float64
		}
		require.Equal(t, describeReply(nil, asErr), describeReply(nil, err), "%q", text)
		if err != nil {
			return
		}
		switch dst := dst.(type) {
		case *[]byte:
			if !isInt && !isFloat { // a number is read as the text that the server has sent
				require.Equal(t, value, *dst, "%q", text)
			}
		case *string:
			if !isInt && !isFloat {
				require.Equal(t, value, *dst, "%q", text)
			}
		case *int64:
			require.Equal(t, value, *dst, "%q", text)
		case *bool:
			require.Equal(t, value, *dst, "%q", text)
		case *float64:
			if value != *dst { // 0 may be -0
				require.Equal(t, fmt.Sprint(value), fmt.Sprint(*dst), "%q", text) // compare as text because of NaN
			}
		}
	}
	b, err := redis.As[[]byte](res)
	into(new([]byte), b, err)
	s, err := redis.As[string](res)
	into(new(string), s, err)
	i, err := redis.As[int64](res)
	into(new(int64), i, err)
	x, err := redis.As[float64](res)
	into(new(float64), x, err)
	flag, err := redis.As[bool](res)
	into(new(bool), flag, err)
}

// asInto reads a result as redis.As does.
func asInto(dst, res any) (err error) {
	switch dst := dst.(type) {
	case *[]byte:
		*dst, err = redis.As[[]byte](res)
	case *string:
		*dst, err = redis.As[string](res)
	case *int64:
		*dst, err = redis.As[int64](res)
	case *float64:
		*dst, err = redis.As[float64](res)
	case *bool:
		*dst, err = redis.As[bool](res)
	}
	return err
}

// FuzzReadResponse checks that any bytes of a server lead to a value or a typed error, and that an
// incomplete reply is never a value.
func FuzzReadResponse(f *testing.F) {
	addReplies(f)
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		size := 16 + int(seed%1000)
		read := func(text string) (any, int) {
			return redis.ReadResponse(bufio.NewReaderSize(strings.NewReader(text), size))
		}
		res, n := read(text)
		require.LessOrEqual(t, n, len(text))
		if err := redis.AsError(res); err != nil {
			require.IsType(t, redis.AsErrorx(res), err)
			if !redis.AsErrorx(res).IsOfType(errs.ErrResult) {
				return
			}
		}
		again, m := read(text[:n])
		require.Equal(t, n, m)
		require.Equal(t, describeReply(res, nil), describeReply(again, nil))
		less, _ := read(text[:n-1-int(seed%uint64(n))])
		assertType(t, errs.ErrIO, less, "%q", text)
		assert.False(t, redis.AsErrorx(less).HasTrait(redis.ErrTraitNotSent))
	})
}
