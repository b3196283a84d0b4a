package redis

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFirstError(t *testing.T) {
	assert.NoError(t, FirstError(nil))
	assert.NoError(t, FirstError([]any{nil, "x"}))
	foreign := errors.New("foreign")
	assert.ErrorIs(t, FirstError([]any{nil, foreign, ErrIO.New("x")}), foreign)
}
