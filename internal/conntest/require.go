package conntest

import (
	"testing"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
)

// RequireType requires that res is an error of type want.
func RequireType(t testing.TB, res any, want *errorx.Type, about ...any) *errorx.Error {
	t.Helper()
	err := redis.AsErrorx(res)
	switch {
	case err == nil:
		t.Fatalf("the result is no error but %T: %v %v", res, res, about)
	case !err.IsOfType(want):
		t.Fatalf("%v is not %s %v", err, want, about)
	}
	return err
}

// RequireNotSent requires that res is an error of type want, and that the request was not sent.
func RequireNotSent(t testing.TB, res any, want *errorx.Type) *errorx.Error {
	t.Helper()
	err := RequireType(t, res, want)
	if !err.HasTrait(redis.ErrTraitNotSent) {
		t.Fatalf("it counts as sent: %v", err)
	}
	return err
}

// RequireUnknown requires that res is an error of type want, and that the request may have run.
func RequireUnknown(t testing.TB, res any, want *errorx.Type) *errorx.Error {
	t.Helper()
	err := RequireType(t, res, want)
	if err.HasTrait(redis.ErrTraitNotSent) {
		t.Fatalf("it counts as not sent: %v", err)
	}
	return err
}
