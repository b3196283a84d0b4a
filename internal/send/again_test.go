package send_test

import (
	"testing"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
)

// The table has a row for each case of After that no test of a sender covers.
func TestAgain(t *testing.T) {
	read, write, code := send.Nature{Twice: true}, send.Nature{}, send.Nature{Code: true}
	loading := errs.ErrLoading.New("LOADING Redis is loading the dataset in memory")
	barred := errs.Errors.NewType("barred_in_a_test", errs.ErrTraitNotSent, errs.ErrTraitInitPermanent)
	for _, c := range []struct {
		err  *errorx.Error
		of   send.Nature
		want send.Again
	}{
		{nil, read, send.AgainNever},
		{errs.ErrIO.New("x"), read, send.AgainTwice},
		{errs.ErrIO.New("x"), write, send.AgainNever},
		{errs.ErrIO.New("x"), code, send.AgainNever},
		{errs.ErrQueueFull.New("x"), write, send.AgainCrowded},
		{errs.ErrOverloaded.New("x"), write, send.AgainCrowded},
		{errs.ErrRequestWithdrawn.New("x"), write, send.AgainUnsent},
		{errs.ErrContextClosed.New("x"), read, send.AgainNever},
		{errs.ErrCommandForbidden.New("x"), read, send.AgainNever},
		{barred.New("x"), write, send.AgainBarred},
		{loading, write, send.AgainRefused},
		{loading, code, send.AgainRefused},
		{errs.ErrRedirect.New("REDIRECT 10.0.0.1:6380"), write, send.AgainRefused},
		{errs.ErrRedirect.New("REDIRECT 10.0.0.1:6380"), code, send.AgainNever},
		{errs.ErrLoading.New("LOADING, says a script"), write, send.AgainRefused},
		{errs.ErrLoading.New("LOADING, says a script"), code, send.AgainNever},
		{loading.WithProperty(errs.EKStays, true), write, send.AgainNever},
		{errs.ErrExecAbort.Wrap(loading, "x"), write, send.AgainRefused},
		{errs.ErrExecAbort.New("x"), write, send.AgainNever},
		{errs.ErrMoved.New("x"), read, send.AgainNever},
	} {
		assert.Equal(t, c.want, c.of.After(c.err), "%v %+v", c.err, c.of)
	}
	assert.Equal(t, read, send.Together(2, func(int) send.Nature { return read }))
	assert.Equal(t, write, send.Together(2, func(i int) send.Nature { return []send.Nature{read, code}[i] }))
}
