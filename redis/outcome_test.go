package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
)

func TestOutcomeOf(t *testing.T) {
	_, unexpected := As[int64]([]byte("x"))
	_, null := As[int64](nil)
	permanent := errs.Errors.NewType("test_permanent", errs.ErrTraitInitPermanent)
	_, _, noScan := ScanResponse("x")
	for i, c := range []struct {
		res  any
		want Outcome
		safe bool
	}{
		{nil, OutcomeValue, false},
		{"OK", OutcomeValue, false},
		{[]any{resp.ErrorReply("ERR one of several")}, OutcomeValue, false},
		{ScanEOF, OutcomeValue, false},
		{unexpected, OutcomeValue, false},
		{null, OutcomeValue, false},
		{noScan, OutcomeValue, false},

		{resp.ErrorReply("WRONGTYPE x"), OutcomeRefused, false},
		{resp.ErrorReply("MOVED 1 a:1"), OutcomeRefused, false},
		{resp.ErrorReply("LOADING x"), OutcomeRefused, true},
		{resp.ErrorReply("READONLY x"), OutcomeRefused, true},
		{ErrExecEmpty.New("null"), OutcomeRefused, false},
		{errs.Aborted(ErrExecAbort.New("EXECABORT"), ErrLoading.New("LOADING x"), 1), OutcomeRefused, true},
		{errs.Aborted(ErrExecAbort.New("EXECABORT"), ErrResult.New("ERR x"), 1), OutcomeRefused, false},
		{errs.Aborted(ErrExecAbort.New("EXECABORT"), nil, 0), OutcomeRefused, false},
		{fmt.Errorf("wrapped: %w", resp.ErrorReply("TRYAGAIN x")), OutcomeRefused, true},

		{ErrQueueFull.New("full"), OutcomeNotSent, true},
		{ErrRequestWithdrawn.New("withdrawn"), OutcomeNotSent, true},
		{ErrOverloaded.New("overloaded"), OutcomeNotSent, true},
		{errorx.Decorate(ErrQueueFull.New("full"), "decorated"), OutcomeNotSent, true},
		{ErrContextClosed.New("closed"), OutcomeNotSent, false},
		{ErrArgumentType.New("malformed"), OutcomeNotSent, false},
		{ErrBatchFormat.New("another is malformed"), OutcomeNotSent, false},
		{ErrContextIsNil.New("nil"), OutcomeNotSent, false},
		{ErrGroupOpts.New("no stream"), OutcomeNotSent, false},
		{ErrGroupEntryID.New("no ID"), OutcomeNotSent, false},
		{ErrGroupBusy.New("for now"), OutcomeNotSent, true},

		{ErrQueueFull.Wrap(errs.ErrTopic.New("passes"), "full"), OutcomeNotSent, true},
		{ErrQueueFull.Wrap(ErrIO.Wrap(permanent.New("for good"), "lost"), "full"), OutcomeNotSent, false},
		{ErrQueueFull.Wrap(fmt.Errorf("%w: %w", io.EOF, permanent.New("for good")), "full"), OutcomeNotSent, false},
		{resp.ErrorReply("READONLY x").WithProperty(errs.EKStays, true), OutcomeRefused, false},
		{errs.Aborted(ErrExecAbort.New("EXECABORT"), ErrReadOnly.New("READONLY x").WithProperty(errs.EKStays, true), 1), OutcomeRefused, false},

		{ErrIO.New("broken"), OutcomeUnknown, false},
		{ErrIO.Wrap(ErrQueueFull.New("full"), "a cause says nothing of what it caused"), OutcomeUnknown, false},
		{ErrRequestCancelled.New("abandoned"), OutcomeUnknown, false},
		{ErrResponseUnexpected.New("stray"), OutcomeUnknown, false},
		{ErrResponseFormat.New("no reply"), OutcomeUnknown, false},
		{io.EOF, OutcomeUnknown, false},
		{context.Canceled, OutcomeUnknown, false},
	} {
		assert.Equal(t, c.want, OutcomeOf(c.res), "%d: %v", i, c.res)
		assert.Equal(t, c.safe, SafeToRetry(AsError(c.res)), "%d: %v", i, c.res)
	}
}

func TestOutcomeString(t *testing.T) {
	assert.Equal(t, "value refused not sent unknown unknown",
		fmt.Sprint(OutcomeValue, " ", OutcomeRefused, " ", OutcomeNotSent, " ", OutcomeUnknown, " ", Outcome(9)))
}

func TestCausedBy(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	res := SyncCtx{&foreignSender{}}.Do(ctx, "GET", "k")
	assert.True(t, CausedBy(AsError(res), context.DeadlineExceeded))
	assert.False(t, CausedBy(AsError(res), context.Canceled))
	assert.ErrorIs(t, AsError(res), context.DeadlineExceeded)

	inner := ErrIO.Wrap(fmt.Errorf("reading: %w", io.ErrUnexpectedEOF), "inner")
	for _, err := range []error{
		inner, ErrQueueFull.Wrap(inner, "outer"), fmt.Errorf("outer: %w", inner),
		errors.Join(io.EOF, inner), errorx.Decorate(inner, "decorated"),
	} {
		assert.True(t, CausedBy(err, io.ErrUnexpectedEOF), "%v", err)
		assert.False(t, CausedBy(err, io.ErrClosedPipe), "%v", err)
	}
	assert.True(t, CausedBy(io.EOF, io.EOF))
	assert.False(t, CausedBy(nil, io.EOF))
}

// errors.Is agrees with OutcomeOf, no matter how deeply an error is wrapped.
func TestErrSaysTheOutcome(t *testing.T) {
	classes := map[Outcome]error{OutcomeRefused: ErrRefused, OutcomeNotSent: ErrNotSent, OutcomeUnknown: ErrUnknown}
	for _, typed := range []*errorx.Error{
		ErrQueueFull.New("full"), ErrArgumentType.New("type"), ErrContextClosed.New("closed"),
		ErrRequestWithdrawn.Wrap(context.Canceled, "withdrawn"), ErrRequestCancelled.Wrap(context.Canceled, "abandoned"),
		ErrOverloaded.Wrap(context.DeadlineExceeded, "late"), ErrOpts.NewType("x").New("options"),
		ErrIO.New("lost"), ErrIO.Wrap(ErrQueueFull.New("full"), "lost"), ErrIO.Wrap(fmt.Errorf("%w", ErrQueueFull.New("full")), "lost"),
		ErrIO.Wrap(Err(ErrQueueFull.New("full")), "lost"),
		ErrQueueFull.Wrap(ErrIO.New("lost"), "full"), ErrTransaction.Wrap(ErrLoading.New("LOADING"), "MULTI"),
		ErrResult.New("ERR no"), ErrLoading.New("LOADING"), ErrExecEmpty.New("changed"),
		ErrResponseNil.New("null"), ErrResponseUnexpected.New("shape").WithProperty(EKResponse, 1), ErrResponseFormat.New("bad"),
		errorx.Decorate(ErrQueueFull.New("full"), "decorated"), errorx.EnsureStackTrace(ErrIO.New("lost")),
	} {
		err := Err(typed)
		for _, err := range []error{err, fmt.Errorf("outer: %w", err), errors.Join(io.EOF, err)} {
			for outcome, class := range classes {
				assert.Equal(t, OutcomeOf(err) == outcome, errors.Is(err, class), "%v: %v", class, err)
			}
			assert.Equal(t, OutcomeOf(typed), OutcomeOf(err))
			assert.Equal(t, SafeToRetry(typed), SafeToRetry(err))
			assert.Equal(t, typed.IsOfType(ErrResponseNil), errors.Is(err, Nil), "%v", err)
			assert.Same(t, typed, AsErrorx(err))
		}
		assert.True(t, errorx.IsOfType(fmt.Errorf("outer: %w", err), typed.Type()), "%v", err)
		assert.Equal(t, typed.Error(), err.Error())
		assert.Equal(t, fmt.Sprintf("%+v", typed), fmt.Sprintf("%+v", err))
		assert.Equal(t, OutcomeOf(typed) == OutcomeRefused, errors.Is(typed, ErrRefused), "also without Err")
		assert.Equal(t, typed.IsOfType(ErrResponseNil), errors.Is(typed, Nil), "also without Err")
	}
	for class, text := range map[error]string{ErrNotSent: "not sent", ErrUnknown: "unknown"} {
		assert.ErrorContains(t, class, text)
	}
}

// errors.Is finds causes, but an error does not match the types of the library's own causes.
func TestErrShowsCauses(t *testing.T) {
	inner := ErrIO.Wrap(fmt.Errorf("reading: %w", &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}), "inner")
	for _, typed := range []*errorx.Error{
		inner, ErrQueueFull.Wrap(inner, "outer"), ErrQueueFull.Wrap(fmt.Errorf("%w", inner), "outer"),
		ErrQueueFull.Wrap(Err(inner), "outer"), errorx.Decorate(ErrQueueFull.Wrap(inner, "outer"), "decorated"),
	} {
		err := fmt.Errorf("%w", Err(typed))
		var network net.Error
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
		if assert.ErrorAs(t, err, &network) {
			assert.True(t, network.Timeout())
		}
		assert.NotErrorIs(t, err, context.DeadlineExceeded)
		assert.NotErrorIs(t, err, io.EOF)
		assert.Equal(t, typed.IsOfType(ErrIO), errorx.IsOfType(err, ErrIO))
		assert.Equal(t, typed.IsOfType(ErrIO), errors.Is(err, error(ErrIO.New("x"))), "as errorx has it")
		assert.NotErrorAs(t, err, new(*os.PathError))
		assert.True(t, CausedBy(err, os.ErrDeadlineExceeded))
	}
	var network net.Error
	assert.ErrorAs(t, Err(ErrRequestCancelled.Wrap(context.DeadlineExceeded, "late")), &network)
	assert.NotErrorAs(t, Err(ErrQueueFull.New("full")), &network)
}

// Older programs ask errors for their types and traits. Of the causes they see only contexts.
func TestAsErrorShowsContexts(t *testing.T) {
	for _, typed := range []*errorx.Error{
		ErrRequestCancelled.Wrap(context.Canceled, "abandoned"), ErrRequestWithdrawn.Wrap(context.DeadlineExceeded, "withdrawn"),
		ErrContextClosed.Wrap(context.Canceled, "closed"), ErrRequestCancelled.Wrap(ErrIO.Wrap(context.Canceled, "inner"), "outer"),
	} {
		err := AsError(typed)
		assert.True(t, errors.Is(err, context.Canceled) != errors.Is(err, context.DeadlineExceeded), "%v", err)
		assert.Equal(t, err, Err(err))
		assert.Equal(t, err, AsError(err))
		assert.True(t, errorx.IsOfType(err, typed.Type()))
	}
	for _, typed := range []*errorx.Error{
		ErrQueueFull.New("full"), ErrIO.Wrap(os.ErrDeadlineExceeded, "late"), ErrResult.New("ERR no"),
		ErrContextClosed.New("closed"), ErrRequestWithdrawn.New("a future's own wish"),
		ErrIO.Wrap(context.DeadlineExceeded, "dialing"),
	} {
		assert.Equal(t, error(typed), AsError(typed))
	}
}

func TestErrOfOthers(t *testing.T) {
	for _, value := range []any{nil, "error", int64(1), []any{errors.New("inside")}} {
		assert.NoError(t, Err(value))
	}
	assert.Equal(t, io.EOF, Err(io.EOF))
	assert.Equal(t, ScanEOF, Err(ScanEOF))
	assertNoSecret(t, Err(ErrIO.New("x").WithProperty(EKVal, "canary")))
}

// AsErrorx returns nil for a result that is not an error.
func TestErrOfNoErrorx(t *testing.T) {
	none := AsErrorx("value")
	assert.NoError(t, Err(none))
	assert.NoError(t, AsError(none))
	assert.Equal(t, OutcomeOf("value"), OutcomeOf(none))
}
