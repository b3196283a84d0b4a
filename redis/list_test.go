package redis

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/internal/errs"
)

// Slices and maps are read with the same results, with reflection and without.
func TestAsListsAgree(t *testing.T) {
	type text string
	failure := ErrIO.New("x").WithProperty(EKAddress, "there")
	for _, c := range []struct {
		res  any
		want string
	}{
		{[]any{[]byte("a"), int64(1), "b", true}, ""},
		{[]any{}, ""},
		{nil, ""},
		{[]byte("canary"), "can't be read as"},
		{map[string]any{"canary": nil}, "can't be read as"},
		{[]any{"a", []any{}}, "element 1: this array can't be read as"},
		{[]any{nil}, "element 0: null can't be read as"},
		{[]any{"a", "b", failure}, "element 2: x"},
	} {
		plain, err := As[[]string](c.res)
		named, err2 := As[[]text](c.res)
		assert.Len(t, named, len(plain))
		assertSame(t, c.want, err, err2)
	}
	for _, c := range []struct {
		res  any
		want string
	}{
		{[]any{[]byte("a"), int64(1), "b", true}, ""},
		{map[string]any{"a": 2.5}, ""},
		{[]any{int64(7), "x"}, ""},
		{[]any{[]any{"a", "x"}}, ""},
		{nil, ""},
		{[]any{[]byte("canary")}, "can't be read as"},
		{[]any{[]any{}, "x"}, "can't be read as"},
		{[]any{nil, "x"}, "a key: null can't be read as"},
		{[]any{failure, "x"}, "a key: x"},
		{[]any{"a", nil}, "a value: null can't be read as"},
		{map[string]any{"a": []any{}}, "a value: this array can't be read as"},
		{map[string]any{"a": failure}, "a value: x"},
	} {
		plain, err := As[map[string]string](c.res)
		named, err2 := As[map[text]text](c.res)
		assert.Len(t, named, len(plain))
		assertSame(t, c.want, err, err2)
	}
	_, err := As[[]int64]([]any{[]byte("9223372036854775808")})
	assert.ErrorContains(t, err, "element 0: the reply is out of the range of int64")
	assert.Equal(t, OutcomeValue, OutcomeOf(err))
}

// assertSame asserts that two errors have the same type, properties and text.
func assertSame(t *testing.T, text string, one, other error) {
	t.Helper()
	if text == "" {
		assert.NoError(t, one)
		assert.NoError(t, other)
		return
	}
	assertType(t, AsErrorx(one).Type(), other)
	for _, key := range errs.Properties {
		want, _ := AsErrorx(one).Property(key)
		got, _ := AsErrorx(other).Property(key)
		assert.Equal(t, want, got)
	}
	for _, err := range []error{one, other} {
		assert.ErrorContains(t, err, text)
		assertNoSecret(t, err)
	}
}
