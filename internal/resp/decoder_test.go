package resp_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/redis"
)

// firstStep is the length of the first step in which a long string is read: see text.go.
const firstStep = 56 << 10

func bigInt(text string) *big.Int {
	v, _ := new(big.Int).SetString(text, 10)
	return v
}

// decode decodes one reply with default limits.
func decode(text string) (any, int) {
	return redis.ReadResponse(bufio.NewReader(strings.NewReader(text)))
}

// assertType asserts that res is an error of exactly that type.
func assertType(t testing.TB, typ *errorx.Type, res any, what ...any) {
	t.Helper()
	err := redis.AsErrorx(res)
	if assert.NotNil(t, err, what...) {
		assert.Equal(t, typ.FullName(), err.Type().FullName(), what...)
	}
}

// assertNoSecret asserts that an error does not show "canary" or 12345678, however it is
// printed.
func assertNoSecret(t testing.TB, err error) {
	t.Helper()
	for _, verb := range []string{"%v", "%+v", "%s", "%#v", "%q"} {
		text := fmt.Sprintf(verb, err)
		assert.NotContains(t, text, "canary", verb)
		assert.NotContains(t, text, "12345678", verb)
	}
}

// validReplies are replies with their results.
var validReplies = []struct {
	text string
	want any
}{
	{"+OK\r\n", "OK"},
	{"+\r\n", ""},
	{"+some text\r\n", "some text"},
	{"+nul \x00 and \xff\r\n", "nul \x00 and \xff"},
	{":0\r\n", int64(0)},
	{":+5\r\n", int64(5)},
	{":-5\r\n", int64(-5)},
	{":007\r\n", int64(7)},
	{",1e999\r\n", []byte("1e999")}, // does not fit into a float64
	{":9223372036854775807\r\n", int64(math.MaxInt64)},
	{":-9223372036854775808\r\n", int64(math.MinInt64)},
	{"$0\r\n\r\n", []byte{}},
	{"$5\r\na\r\nb\n\r\n", []byte("a\r\nb\n")},
	{"$-1\r\n", nil},
	{"*-1\r\n", nil},
	{"*0\r\n", []any{}},
	{"*3\r\n:1\r\n$-1\r\n*1\r\n+x\r\n", []any{int64(1), nil, []any{"x"}}},
	{"_\r\n", nil},
	{"#t\r\n", true},
	{"#f\r\n", false},
	{",3.25\r\n", 3.25},
	{",-1e-3\r\n", -0.001},
	{",10\r\n", 10.0},
	{",inf\r\n", math.Inf(1)},
	{",-inf\r\n", math.Inf(-1)},
	{"(3492890328409238509324850943850943825024385\r\n", bigInt("3492890328409238509324850943850943825024385")},
	{"(-17\r\n", bigInt("-17")},
	{"=8\r\ntxt:a\r\nb\r\n", "a\r\nb"},
	{"=4\r\nmkd:\r\n", ""},
	{"~2\r\n:1\r\n:2\r\n", []any{int64(1), int64(2)}},
	{"%2\r\n+a\r\n:1\r\n$1\r\nb\r\n*0\r\n", map[string]any{"a": int64(1), "b": []any{}}},
	{"%2\r\n:1\r\n:1\r\n#t\r\n_\r\n", map[string]any{"1": nil}},
	{"%0\r\n", map[string]any{}},
	{">2\r\n+message\r\n+hi\r\n:1\r\n", int64(1)},
	{">0\r\n>1\r\n%0\r\n+OK\r\n", "OK"},
	{"|1\r\n+ttl\r\n:3\r\n:1\r\n", int64(1)},
	{"*2\r\n|1\r\n+a\r\n*1\r\n_\r\n:1\r\n:2\r\n", []any{int64(1), int64(2)}},
}

func TestReadResponseValues(t *testing.T) {
	for _, c := range validReplies {
		res, n := decode(c.text + "next")
		assert.Equal(t, c.want, res, "%q", c.text)
		assert.Equal(t, len(c.text), n, "%q", c.text)
	}
	res, _ := decode(",nan\r\n")
	assert.True(t, math.IsNaN(res.(float64)))
}

// The result of a reply does not depend on the pieces in which it arrives.
func TestReadResponseInPieces(t *testing.T) {
	for _, c := range validReplies {
		for name, r := range map[string]io.Reader{
			"bytes":  iotest.OneByteReader(strings.NewReader(c.text)),
			"halves": iotest.HalfReader(strings.NewReader(c.text)),
			"at EOF": iotest.DataErrReader(strings.NewReader(c.text)),
		} {
			res, n := redis.ReadResponse(bufio.NewReaderSize(r, 64))
			assert.Equal(t, c.want, res, "%q, %s", c.text, name)
			assert.Equal(t, len(c.text), n, "%q, %s", c.text, name)
		}
	}
}

// A reply that breaks off is an error, no matter after how many bytes.
func TestReadResponseBreaksOff(t *testing.T) {
	for _, c := range validReplies {
		for n := range len(c.text) {
			res, size := decode(c.text[:n])
			assertType(t, errs.ErrIO, res, "%q", c.text[:n])
			assert.Equal(t, n, size, "%q", c.text[:n])
		}
	}
	d := resp.NewDecoder(bufio.NewReader(strings.NewReader("+OK\r\n")), resp.Limits{})
	_, err := d.Decode()
	require.NoError(t, err)
	_, err = d.Decode()
	assert.Equal(t, io.EOF, redis.AsErrorx(err).Cause(), "between replies")
	assert.Zero(t, d.Size())
	res, _ := decode("$3\r\nab")
	assert.Equal(t, io.ErrUnexpectedEOF, redis.AsErrorx(res).Cause())
	failure := errors.New("failure of the socket")
	res, _ = redis.ReadResponse(bufio.NewReader(io.MultiReader(strings.NewReader("+O"), iotest.ErrReader(failure))))
	assertType(t, errs.ErrIO, res)
	assert.Equal(t, failure, redis.AsErrorx(res).Cause())
	assert.True(t, redis.AsErrorx(res).HasTrait(errs.ErrTraitConnectivity))
	assert.False(t, redis.AsErrorx(res).HasTrait(redis.ErrTraitNotSent))
}

// hostileReplies are replies that no server may send.
var hostileReplies = []struct {
	text string
	typ  *errorx.Type
}{
	// Lines.
	{"\r\n", errs.ErrHeaderlineEmpty},
	{"\n", errs.ErrHeaderlineEmpty},
	{"+OK\n", errs.ErrNoFinalRN},
	{"+a\rb\r\n", errs.ErrResponseFormat},
	{"+a\r\r\n", errs.ErrResponseFormat},
	{"-a\rb\r\n", errs.ErrResponseFormat},
	{"OK\r\n", errs.ErrUnknownHeaderType},
	{"\x00\r\n", errs.ErrUnknownHeaderType},
	{" +OK\r\n", errs.ErrUnknownHeaderType},
	{"HTTP/1.1 400 Bad Request\r\n", errs.ErrUnknownHeaderType},
	{"\x16\x03\x01\x02\x00\x01\r\n", errs.ErrUnknownHeaderType},
	{"+" + strings.Repeat("x", 1<<20) + "\r\n", errs.ErrHeaderlineTooLarge},
	{"-" + strings.Repeat("x", 1<<20) + "\r\n", errs.ErrHeaderlineTooLarge},
	{":" + strings.Repeat("0", 1<<20) + "\r\n", errs.ErrHeaderlineTooLarge},
	{"*" + strings.Repeat("0", 1<<20) + "\r\n", errs.ErrHeaderlineTooLarge},
	{strings.Repeat("+", 1<<20), errs.ErrHeaderlineTooLarge},
	// Integers.
	{":\r\n", errs.ErrIntegerParsing},
	{":-\r\n", errs.ErrIntegerParsing},
	{":+\r\n", errs.ErrIntegerParsing},
	{":--1\r\n", errs.ErrIntegerParsing},
	{":1.5\r\n", errs.ErrIntegerParsing},
	{":1e3\r\n", errs.ErrIntegerParsing},
	{":0x10\r\n", errs.ErrIntegerParsing},
	{": 1\r\n", errs.ErrIntegerParsing},
	{":1 \r\n", errs.ErrIntegerParsing},
	{":1\x00\r\n", errs.ErrIntegerParsing},
	{":9223372036854775808\r\n", errs.ErrIntegerParsing},
	{":-9223372036854775809\r\n", errs.ErrIntegerParsing},
	{":18446744073709551616\r\n", errs.ErrIntegerParsing},
	{":99999999999999999999999999\r\n", errs.ErrIntegerParsing},
	// Strings.
	{"$\r\n", errs.ErrIntegerParsing},
	{"$-\r\n", errs.ErrIntegerParsing},
	{"$+1\r\na\r\n", errs.ErrIntegerParsing},
	{"$a\r\n", errs.ErrIntegerParsing},
	{"$1 \r\na\r\n", errs.ErrIntegerParsing},
	{"$-2\r\n", errs.ErrResponseFormat},
	{"$-0\r\n\r\n", errs.ErrResponseFormat},
	{"$-01\r\n", errs.ErrResponseFormat},
	{"$-9223372036854775808\r\n", errs.ErrResponseFormat},
	{"$9223372036854775807\r\n", errs.ErrResponseTooLarge},
	{"$9223372036854775808\r\n", errs.ErrIntegerParsing},
	{"$2147483647\r\n", errs.ErrResponseTooLarge},
	{"$4294967296\r\n", errs.ErrResponseTooLarge},
	{"$536870913\r\n", errs.ErrResponseTooLarge},
	{"$536870912\r\n", errs.ErrIO},
	{"$536870912\r\n" + strings.Repeat("x", 100<<10), errs.ErrIO},
	{"$0\r\nab", errs.ErrNoFinalRN},
	{"$1\r\nabc", errs.ErrNoFinalRN},
	{"$1\r\na\n\n", errs.ErrNoFinalRN},
	{"$1\r\na\r\r", errs.ErrNoFinalRN},
	// Arrays.
	{"*\r\n", errs.ErrIntegerParsing},
	{"*x\r\n", errs.ErrIntegerParsing},
	{"*-2\r\n", errs.ErrResponseFormat},
	{"*2147483647\r\n", errs.ErrResponseTooLarge},
	{"*9223372036854775807\r\n", errs.ErrResponseTooLarge},
	{"*134217729\r\n", errs.ErrResponseTooLarge},
	{"*134217728\r\n", errs.ErrIO},
	{"*134217728\r\n:1\r\n:2\r\n", errs.ErrIO},
	{"*1\r\n/\r\n", errs.ErrUnknownHeaderType},
	{"*2\r\n$1\r\nabc:1\r\n", errs.ErrNoFinalRN},
	{strings.Repeat("*1\r\n", 1<<20), errs.ErrResponseTooLarge},
	{strings.Repeat("*1000000\r\n", 1<<18), errs.ErrResponseTooLarge},
	{strings.Repeat("%1\r\n", 1<<20), errs.ErrResponseTooLarge},
	{strings.Repeat("%1\r\n+k\r\n", 1<<20), errs.ErrResponseTooLarge},
	{strings.Repeat("~1\r\n", 1<<20), errs.ErrResponseTooLarge},
	{strings.Repeat("|1\r\n", 1<<20), errs.ErrResponseTooLarge},
	// RESP3.
	{"_x\r\n", errs.ErrResponseFormat},
	{"#\r\n", errs.ErrResponseFormat},
	{"#T\r\n", errs.ErrResponseFormat},
	{"#tt\r\n", errs.ErrResponseFormat},
	{",\r\n", errs.ErrResponseFormat},
	{",x\r\n", errs.ErrResponseFormat},
	{",.5\r\n", errs.ErrResponseFormat},
	{",5.\r\n", errs.ErrResponseFormat},
	{",-.5e1\r\n", errs.ErrResponseFormat},
	{",0x1p4\r\n", errs.ErrResponseFormat},
	{",1_0\r\n", errs.ErrResponseFormat},
	{",infinity\r\n", errs.ErrResponseFormat},
	{",1 \r\n", errs.ErrResponseFormat},
	{"(\r\n", errs.ErrResponseFormat},
	{"(-\r\n", errs.ErrResponseFormat},
	{"(1.0\r\n", errs.ErrResponseFormat},
	{"(1_0\r\n", errs.ErrResponseFormat},
	{"(+-1\r\n", errs.ErrResponseFormat},
	{"=3\r\ntxt\r\n", errs.ErrResponseFormat},
	{"=5\r\ntxt_x\r\n", errs.ErrResponseFormat},
	{"=-1\r\n", errs.ErrResponseFormat},
	{"!-1\r\n", errs.ErrResponseFormat},
	{"!9223372036854775807\r\n", errs.ErrResponseTooLarge},
	{"~-1\r\n", errs.ErrResponseFormat},
	{"%-1\r\n", errs.ErrResponseFormat},
	{">-1\r\n", errs.ErrResponseFormat},
	{"|-1\r\n", errs.ErrResponseFormat},
	{"%67108865\r\n", errs.ErrResponseTooLarge},
	{"%9223372036854775807\r\n", errs.ErrResponseTooLarge},
	{"%1\r\n*0\r\n:1\r\n", errs.ErrResponseFormat},
	{"%1\r\n_\r\n:1\r\n", errs.ErrResponseFormat},
	{"%1\r\n-ERR\r\n:1\r\n", errs.ErrResponseFormat},
	{"*1\r\n>1\r\n:1\r\n:1\r\n", errs.ErrResponseFormat},
	{">1\r\n:1\r\n", errs.ErrIO},
	{">1\r\n/\r\n", errs.ErrUnknownHeaderType},
	{"|1\r\n+a\r\n+b\r\n", errs.ErrIO},
	{"$?\r\n", errs.ErrIntegerParsing},
	{"*?\r\n", errs.ErrIntegerParsing},
}

func TestReadResponseHostile(t *testing.T) {
	for _, c := range hostileReplies {
		res, n := decode(c.text)
		assertType(t, c.typ, res, "%.40q", c.text)
		assert.LessOrEqual(t, n, len(c.text))
		for size, limits := range map[int]resp.Limits{16: {}, 100 << 10: {}, 64: {Line: 100, Bulk: 1000, Elements: 100, Depth: 3}} {
			d := resp.NewDecoder(bufio.NewReaderSize(strings.NewReader(c.text), size), limits)
			_, err := d.Decode()
			assert.Error(t, err, "%.40q", c.text)
		}
	}
}

// A length alone costs no memory: the decoder allocates memory for bytes that have arrived.
func TestReadResponseAllocation(t *testing.T) {
	for _, c := range hostileReplies {
		for name, typed := range map[string]bool{"plain": false, "typed": true} {
			r := bufio.NewReaderSize(strings.NewReader(c.text), 16<<10)
			d := resp.NewDecoder(r, resp.Limits{})
			n := allocated(func() {
				if typed {
					_, _, _ = d.DecodeScalar(&resp.Scalar{Kind: resp.Bytes})
				} else {
					_, _ = d.Decode()
				}
			})
			assert.LessOrEqual(t, n, 64<<10+4*len(c.text), "%.40q of %d bytes, %s", c.text, len(c.text), name)
		}
	}
}

// allocated returns how many bytes f allocates in total.
func allocated(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

func TestDecodeLongString(t *testing.T) {
	for _, n := range []int{firstStep - 1, firstStep, firstStep + 1, 2 * firstStep, 5*firstStep + 1} {
		body := strings.Repeat("0123456789", n/10+1)[:n]
		text := strconv.Itoa(n) + "\r\n" + body + "\r\n"
		res, size := decode("$" + text)
		require.Equal(t, body, string(res.([]byte)))
		assert.Equal(t, 1+len(text), size)
		r := bufio.NewReader(strings.NewReader("$" + text))
		assert.LessOrEqual(t, allocated(func() { _, _ = redis.ReadResponse(r) }), 4*n+1<<10, n)
	}
}

// After a decoder has read a long string, it allocates the memory for the next one in one step. A longer
// string can't claim more memory than that in its first step.
func TestDecodeLongStringAgain(t *testing.T) {
	const n = 20 * firstStep
	text := "$" + strconv.Itoa(n) + "\r\n" + strings.Repeat("x", n) + "\r\n"
	d := resp.NewDecoder(bufio.NewReader(strings.NewReader(text+text+"$536870912\r\nx")), resp.Limits{})
	read := func() { _, _ = d.Decode() }
	assert.Greater(t, allocated(read), n*3/2)
	assert.Less(t, allocated(read), n*3/2)
	assert.Less(t, allocated(read), n*3/2)
}

func TestDecoderSkipsPushes(t *testing.T) {
	d := resp.NewDecoder(bufio.NewReader(strings.NewReader(">1\r\n+a\r\n>1\r\n+b\r\n:1\r\n>1\r\n+c\r\n$1\r\nx\r\n")), resp.Limits{})
	kind, err := d.Next()
	require.NoError(t, err)
	assert.Equal(t, byte(':'), kind)
	assert.Equal(t, 4+len(">1\r\n+c\r\n$1\r\nx\r\n"), d.Buffered())
	res, err := d.Decode()
	require.NoError(t, err)
	assert.Equal(t, int64(1), res)
	res, err = d.Decode()
	require.NoError(t, err)
	assert.Equal(t, "x", string(res.([]byte)))
	assert.Equal(t, len(">1\r\n+c\r\n$1\r\nx\r\n"), d.Size())
	_, err = d.Next()
	assertType(t, errs.ErrIO, err)
	_, err = resp.NewDecoder(bufio.NewReader(strings.NewReader(">1\r\n/\r\n")), resp.Limits{}).Next()
	assertType(t, errs.ErrUnknownHeaderType, err)
}

// An error of the decoder names the problem, and contains nothing of the reply.
func TestDecodeErrorsShowNoData(t *testing.T) {
	for _, text := range []string{
		"canary\r\n", ":canary\r\n", "$canary\r\n", "*canary\r\n", "+canary\r.\r\n", "-canary\r.\r\n",
		"#canary\r\n", ",canary\r\n", "(canary\r\n", "_canary\r\n", "=6\r\ncanary\r\n", "$6\r\ncanary--",
		"%1\r\n*1\r\n+canary\r\n:1\r\n", "canary\n", "$6\r\ncanary",
	} {
		res, _ := decode(text)
		require.Error(t, redis.AsError(res), text)
		assertNoSecret(t, redis.AsError(res))
	}
	res, _ := decode(":canary" + strings.Repeat("x", 1000) + "\r\n")
	line, ok := redis.AsErrorx(res).Property(errs.EKLine)
	require.True(t, ok)
	assert.Len(t, line, 64)
}

func TestDecodeAllocates(t *testing.T) {
	for text, most := range map[string]float64{
		"+OK\r\n": 0, "+QUEUED\r\n": 0, "+PONG\r\n": 0, ":1\r\n": 0, "$-1\r\n": 0, "$0\r\n\r\n": 0, "_\r\n": 0, "#t\r\n": 0,
		"$5\r\nhello\r\n": 2, ":123456\r\n": 1, "*2\r\n:1\r\n:2\r\n": 2, "*0\r\n": 0,
	} {
		source := strings.NewReader(text)
		r := bufio.NewReader(source)
		d := resp.NewDecoder(r, resp.Limits{})
		assert.LessOrEqual(t, testing.AllocsPerRun(100, func() {
			source.Reset(text)
			r.Reset(source)
			if _, err := d.Decode(); err != nil {
				panic(err)
			}
		}), most, "%q", text)
	}
}
