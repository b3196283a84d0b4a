package redis

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

func TestCloneArgs(t *testing.T) {
	assert.Nil(t, cloneArgs(nil))
	assert.Nil(t, cloneArgs([]any{}))
	for _, c := range argumentTexts {
		clone := cloneArg(c.arg)
		assert.IsType(t, c.arg, clone)
		text, ok := ArgToString(clone)
		assert.True(t, ok)
		assert.Equal(t, c.text, text)
	}
	b, s := []byte("bytes"), "string"
	clones := cloneArgs([]any{b, s})
	b[0] = 'x'
	assert.Equal(t, []any{[]byte("bytes"), "string"}, clones)
	assert.NotSame(t, unsafe.StringData(s), unsafe.StringData(clones[1].(string)), "of a string the bytes too")
	for _, bad := range notArguments {
		assert.Nil(t, cloneArg(bad), "%T", bad)
	}
}

func TestWithRequest(t *testing.T) {
	foreign := errors.New("foreign")
	assert.Equal(t, foreign, withRequest(foreign, "GET", nil))
	err := withRequest(ErrIO.New("x"), "GET", []any{"k"})
	req, _ := AsErrorx(err).Property(EKRequest)
	assert.Equal(t, Req("GET", "k"), req)
	assert.Equal(t, err, withRequest(err, "SET", nil), "the first one stands")
}
