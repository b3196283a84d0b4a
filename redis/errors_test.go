package redis

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
)

func TestErrorTraits(t *testing.T) {
	type types = []*errorx.Type
	notSent := types{
		ErrContextClosed, ErrOverloaded, ErrQueueFull, ErrArgumentType, ErrBatchFormat, ErrNoSlotKey,
		ErrCommandFormat, ErrCommandForbidden, ErrRequestTooLarge, ErrRequestWithdrawn,
	}
	mayHaveRun := types{
		ErrIO, ErrProxy, ErrRequestCancelled, ErrResponseFormat, ErrResponseUnexpected, ErrResponseNil, ErrResponseTooLarge,
		ErrHeaderlineTooLarge, ErrHeaderlineEmpty, ErrIntegerParsing, ErrNoFinalRN, ErrUnknownHeaderType, ErrPing,
		ErrResult, ErrMoved, ErrAsk, ErrClusterDown, ErrTryAgain, ErrLoading, ErrReadOnly, ErrRedirect, ErrMasterDown, ErrBusy, ErrMaxClients, ErrUnblocked, ErrExecEmpty, ErrExecAbort,
	}
	for _, typ := range notSent {
		assert.True(t, typ.HasTrait(ErrTraitNotSent), typ.FullName())
	}
	for _, typ := range mayHaveRun {
		assert.False(t, typ.HasTrait(ErrTraitNotSent), typ.FullName())
	}
	for _, typ := range append(notSent, mayHaveRun...) {
		assert.True(t, Errors.IsNamespaceOf(typ), typ.FullName())
	}
	assert.True(t, ErrIO.HasTrait(ErrTraitConnectivity))
	for _, typ := range (types{ErrArgumentType, ErrBatchFormat, ErrNoSlotKey, ErrRequestCancelled, ErrRequestWithdrawn}) {
		assert.True(t, ErrRequest.IsNamespaceOf(typ), typ.FullName())
	}
	for _, typ := range (types{ErrResponseFormat, ErrResponseUnexpected, ErrNoFinalRN, ErrPing, ErrUnknownHeaderType}) {
		assert.True(t, ErrResponse.IsNamespaceOf(typ), typ.FullName())
	}
	for _, typ := range (types{ErrContextIsNil, ErrNoAddressProvided}) {
		assert.True(t, ErrOpts.IsNamespaceOf(typ), typ.FullName())
	}
	for _, typ := range (types{ErrMoved, ErrAsk, ErrClusterDown, ErrTryAgain, ErrLoading, ErrReadOnly, ErrRedirect, ErrMasterDown, ErrBusy, ErrMaxClients, ErrUnblocked, ErrExecEmpty, ErrExecAbort}) {
		assert.True(t, typ.IsOfType(ErrResult), typ.FullName())
	}
	assert.True(t, ErrRequestWithdrawn.IsOfType(ErrRequestCancelled))
	assert.True(t, ErrResponseNil.IsOfType(ErrResponseUnexpected))
}

func TestAsError(t *testing.T) {
	for _, value := range []any{nil, "error", []byte("x"), int64(1), []any{errors.New("inside")}} {
		assert.NoError(t, AsError(value))
		assert.Nil(t, AsErrorx(value))
	}
	typed := ErrIO.New("x")
	assert.Equal(t, error(typed), AsError(typed))
	assert.Same(t, typed, AsErrorx(typed))
	assert.Same(t, typed, AsErrorx(fmt.Errorf("wrapped: %w", typed)))
	foreign := errors.New("foreign")
	assert.Equal(t, foreign, AsError(foreign))
	assert.Equal(t, foreign, AsErrorx(foreign).Cause())
}

// A program can get the arguments from an error's properties, but they are never printed.
func TestErrorPropertiesHideArguments(t *testing.T) {
	req := Req("SET", "canary", []byte("canary"), 12345678)
	err := ErrIO.New("x").
		WithProperty(EKRequest, req).
		WithProperty(EKRequests, []Request{req}).
		WithProperty(EKVal, "canary").
		WithProperty(EKResponse, []byte("canary")).
		WithProperty(EKLine, []byte("canary"))
	assertNoSecret(t, err)
	assertNoSecret(t, fmt.Errorf("wrapped: %w", err))
	assertNoSecret(t, errorx.Decorate(err, "decorated"))
	assertNoSecret(t, errorx.EnsureStackTrace(err))
	assert.Contains(t, err.Error(), "SET")
	got, _ := err.Property(EKRequest)
	assert.Equal(t, req, got)
	assert.Contains(t, ErrMoved.New("x").WithProperty(EKMovedTo, "host:1").WithProperty(EKSlot, int64(7)).
		WithProperty(EKAddress, "from:2").WithProperty(EKArgPos, 3).Error(), "host:1")
}

func TestCollectTrace(t *testing.T) {
	s := Sync{answering("-ERR no\r\n", Limits{})}
	assert.NotContains(t, fmt.Sprintf("%+v", s.Do("GET", "k")), "errors_test.go")
	CollectTrace = true
	defer func() { CollectTrace = false }()
	res := s.Do("GET", "k")
	assert.Contains(t, fmt.Sprintf("%+v", res), "errors_test.go")
	assert.True(t, AsErrorx(res).IsOfType(ErrResult))
	assert.Equal(t, int64(1), Sync{answering(":1\r\n", Limits{})}.Do("GET", "k"))
}

// Within adds a context to an error's text, and keeps its properties, type, traits and cause.
func TestWithinKeepsAll(t *testing.T) {
	delay := Delay{Queue: time.Second}
	inner := ErrRequestWithdrawn.Wrap(context.DeadlineExceeded, "why").
		WithProperty(EKText, "text").WithProperty(EKDelay, delay).WithProperty(errs.EKCapacity, 1)
	for _, outer := range []*errorx.Error{errs.Within(inner, "element %d", 7), errs.Within(errs.Within(inner, "element %d", 7), "a value")} {
		for key, want := range map[errorx.Property]any{EKText: "text", EKDelay: delay, errs.EKCapacity: 1} {
			got, ok := outer.Property(key)
			assert.True(t, ok)
			assert.Equal(t, want, got)
		}
		assertType(t, ErrRequestWithdrawn, outer)
		assert.True(t, outer.HasTrait(ErrTraitNotSent))
		assert.True(t, CausedBy(outer, context.DeadlineExceeded))
		assert.ErrorContains(t, outer, "element 7: why")
		assert.NotContains(t, fmt.Sprintf("%+v", outer), "errors_test.go", "no stack trace")
	}
	_, err := As[[]int]([]any{int64(1), resp.ErrorReply("ERR no such key 'canary'")})
	text, _ := AsErrorx(err).Property(EKText)
	assert.Equal(t, "ERR no such key 'canary'", text)
	assertNoSecret(t, err)
}

func TestWithRequest(t *testing.T) {
	foreign := errors.New("foreign")
	assert.Equal(t, foreign, withRequest(foreign, "GET", nil))
	err := withRequest(ErrIO.New("x"), "GET", []any{"k"})
	req, _ := AsErrorx(err).Property(EKRequest)
	assert.Equal(t, Req("GET", "k"), req)
	assert.Equal(t, err, withRequest(err, "SET", nil), "the first one stands")
}
