package errs

import (
	"context"
	"errors"
	"testing"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
)

func TestBecause(t *testing.T) {
	trait, key := errorx.RegisterTrait("test"), NewProperty("test")
	kind := errorx.NewNamespace("test").ApplyModifiers(errorx.TypeModifierOmitStackTrace).NewType("type", trait)
	cause := errors.New("cause")
	for _, err := range []*errorx.Error{kind.New("text"), kind.Wrap(cause, "text")} {
		got := Because(err.WithProperty(key, 1), context.Canceled)
		assert.True(t, got.IsOfType(kind) && got.HasTrait(trait))
		assert.Equal(t, "text", got.Message())
		value, _ := got.Property(key)
		assert.Equal(t, 1, value)
		assert.ErrorIs(t, got.Cause(), context.Canceled)
		assert.Equal(t, err.Cause() != nil, errors.Is(got.Cause(), cause))
	}
}
