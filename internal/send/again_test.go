package send

import (
	"testing"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/internal/errs"
)

// The table has a row for each case of After that no sender's own table has.
func TestAgain(t *testing.T) {
	read, write, code := Nature{Twice: true}, Nature{}, Nature{Code: true}
	loading := errs.ErrLoading.New("LOADING Redis is loading the dataset in memory")
	barred := errs.Errors.NewType("barred_in_a_test", errs.ErrTraitNotSent, errs.ErrTraitInitPermanent)
	for _, c := range []struct {
		err  *errorx.Error
		of   Nature
		want Again
	}{
		{nil, read, AgainNever},
		{errs.ErrIO.New("x"), read, AgainTwice},
		{errs.ErrIO.New("x"), write, AgainNever},
		{errs.ErrIO.New("x"), code, AgainNever},
		{errs.ErrQueueFull.New("x"), write, AgainCrowded},
		{errs.ErrOverloaded.New("x"), write, AgainCrowded},
		{errs.ErrRequestWithdrawn.New("x"), write, AgainUnsent},
		{errs.ErrContextClosed.New("x"), read, AgainNever},
		{errs.ErrCommandForbidden.New("x"), read, AgainNever},
		{barred.New("x"), write, AgainBarred},
		{loading, write, AgainRefused},
		{loading, code, AgainRefused},
		{errs.ErrLoading.New("LOADING, says a script"), write, AgainRefused},
		{errs.ErrLoading.New("LOADING, says a script"), code, AgainNever},
		{loading.WithProperty(errs.EKStays, true), write, AgainNever},
		{errs.ErrExecAbort.Wrap(loading, "x"), write, AgainRefused},
		{errs.ErrExecAbort.New("x"), write, AgainNever},
		{errs.ErrMoved.New("x"), read, AgainNever},
	} {
		assert.Equal(t, c.want, c.of.After(c.err), "%v %+v", c.err, c.of)
	}
	assert.Equal(t, read, Together(2, func(int) Nature { return read }))
	assert.Equal(t, write, Together(2, func(i int) Nature { return []Nature{read, code}[i] }))
}
