package redis

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// as asserts what As makes of a result.
func as[T any](t *testing.T, want T, res any) {
	t.Helper()
	got, err := As[T](res)
	assert.NoError(t, err)
	assert.Equal(t, want, got)
}

// not asserts that As makes nothing of a result.
func not[T any](t *testing.T, results ...any) {
	t.Helper()
	for _, res := range results {
		got, err := As[T](res)
		assertType(t, ErrResponseUnexpected, err, "%T of %T", got, res)
		assert.Zero(t, got)
		assertNoSecret(t, err)
	}
}

func TestAs(t *testing.T) {
	as(t, []byte("a"), []byte("a"))
	as(t, []byte{}, []byte{})
	as(t, []byte(nil), nil)
	as(t, []byte("OK"), "OK")
	as(t, []byte("-5"), int64(-5))
	as(t, "a", []byte("a"))
	as(t, "2.5", 2.5)
	as(t, "true", true)
	as(t, "123456789012345678901", bigInt("123456789012345678901"))
	as(t, int64(42), []byte("42"))
	as(t, int64(42), int64(42))
	as(t, int64(7), bigInt("7"))
	as(t, 2.5, []byte("2.5"))
	as(t, 42.0, int64(42))
	as(t, math.Inf(1), math.Inf(1))
	as(t, math.Inf(-1), []byte("-inf"))
	as(t, "inf", math.Inf(1))
	as(t, "nan", math.NaN())
	as(t, true, int64(1))
	as(t, false, []byte("0"))
	as(t, true, "OK")
	as(t, false, false)
	as(t, []string{"a", "1"}, []any{[]byte("a"), int64(1)})
	as(t, []string{}, []any{})
	as(t, [][]byte{nil, {}}, []any{nil, []byte{}})
	as(t, []int64(nil), nil)
	as(t, []float64{1, 2.5}, []any{int64(1), 2.5})
	as(t, []bool{true, false}, []any{int64(1), false})
	as(t, map[string]string{"a": "1"}, []any{[]byte("a"), int64(1)})
	as(t, map[string]string{"a": "1"}, map[string]any{"a": int64(1)})
	as(t, map[string]int64{}, []any{})
	as(t, map[string][]byte(nil), nil)
	as(t, map[string]float64{"a": 0.5}, map[string]any{"a": 0.5})
	as(t, map[string]bool{"a": true}, map[string]any{"a": true})
}

func TestAsNot(t *testing.T) {
	not[int64](t, []byte("canary"), "", 2.5, true, []any{}, map[string]any{}, bigInt("123456789012345678901"))
	not[float64](t, []byte("canary"), "0x1", []any{int64(1)})
	not[bool](t, int64(2), "yes", []byte(""))
	not[string](t, []any{}, map[string]any{})
	not[[]byte](t, []any{}, 1i)
	not[[]string](t, "canary", int64(12345678), map[string]any{}, []any{[]any{}})
	not[[]int64](t, []any{[]byte("canary")})
	not[map[string]string](t, "canary", []any{[]byte("canary")}, []any{[]byte("k"), []any{}}, map[string]any{"k": []any{}})
	for _, null := range []error{second(As[string](nil)), second(As[int64](nil)), second(As[[]string]([]any{nil})),
		second(As[map[string]string](map[string]any{"a": nil})), second(As[map[string]string]([]any{nil, int64(1)}))} {
		assertType(t, ErrResponseNil, null)
	}
	failure := ErrIO.New("x")
	assert.Equal(t, Err(failure), second(As[string](failure)))
}

func second[T any](_ T, err error) error { return err }

// What As gives is the caller's, whatever becomes of the result.
func TestAsCopies(t *testing.T) {
	res := []byte("abc")
	got, err := As[[]byte](res)
	require.NoError(t, err)
	res[0] = 'x'
	assert.Equal(t, "abc", string(got))
}

func bigInt(text string) *big.Int {
	v, _ := new(big.Int).SetString(text, 10)
	return v
}
