package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/internal/resp"
)

func TestOutcomeOf(t *testing.T) {
	_, unexpected := As[int64]([]byte("x"))
	_, null := As[int64](nil)
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
		{fmt.Errorf("wrapped: %w", resp.ErrorReply("TRYAGAIN x")), OutcomeRefused, true},

		{ErrQueueFull.New("full"), OutcomeNotSent, true},
		{ErrRequestWithdrawn.New("withdrawn"), OutcomeNotSent, true},
		{ErrOverloaded.New("overloaded"), OutcomeNotSent, true},
		{errorx.Decorate(ErrQueueFull.New("full"), "decorated"), OutcomeNotSent, true},
		{ErrContextClosed.New("closed"), OutcomeNotSent, false},
		{ErrArgumentType.New("malformed"), OutcomeNotSent, false},
		{ErrBatchFormat.New("another is malformed"), OutcomeNotSent, false},
		{ErrContextIsNil.New("nil"), OutcomeNotSent, false},

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
