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

// ownContext is a user's context, which ends with an error of its own.
type ownContext struct {
	context.Context
	why error
}

func (c ownContext) Err() error { return c.why }

func TestErrorOfContext(t *testing.T) {
	why := errors.New("the user's")
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded, why} {
		ctx := ownContext{context.Background(), cause}
		for typ, of := range map[*errorx.Type]func(context.Context) *errorx.Error{
			ErrRequestWithdrawn: Withdrawn, ErrRequestCancelled: Abandoned,
		} {
			err := of(ctx)
			assert.Same(t, typ, err.Type())
			assert.Equal(t, cause, err.Cause())
			_ = err.WithProperty(EKRequest, 1)
			_, shared := of(ctx).Property(EKRequest)
			assert.False(t, shared)
		}
	}
}
