package redis

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTransactionResponse(t *testing.T) {
	list := []any{"OK", int64(1)}
	res, err := TransactionResponse(list)
	assert.NoError(t, err)
	assert.Equal(t, list, res)
	_, err = TransactionResponse(nil)
	assertType(t, ErrExecEmpty, err)
	assert.True(t, AsErrorx(err).IsOfType(ErrResult))
	failure := ErrIO.New("x")
	_, err = TransactionResponse(failure)
	assert.Equal(t, error(failure), err)
	for _, other := range []any{"canary", []byte("canary"), int64(12345678), map[string]any{"canary": 1}} {
		res, err = TransactionResponse(other)
		assert.Nil(t, res)
		assertType(t, ErrResponseUnexpected, err)
		assertNoSecret(t, err)
		kept, _ := AsErrorx(err).Property(EKResponse)
		assert.Equal(t, other, kept)
	}
}
