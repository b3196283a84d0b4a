package replies

import (
	"context"
	"io"
	"net"
	"os"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisvirtual/internal/proto"
)

// notSent is the error that ends a virtual connection if none of the waiting requests was sent. Clients
// that retry after a broken connection may then do so.
type notSent struct{ why *errorx.Error }

// Error implements error.
func (e notSent) Error() string { return e.why.Error() }

// Unwrap returns the reason, and io.ErrUnexpectedEOF, by which clients recognize the end of a connection.
func (e notSent) Unwrap() []error { return []error{e.why, io.ErrUnexpectedEOF} }

// unknown returns the error that ends a virtual connection if one of the waiting requests may have run. It
// hides its causes, so that clients do not recognize the end of a connection and retry.
func unknown(why *errorx.Error) error {
	if !why.HasTrait(redis.ErrTraitNotSent) {
		return why
	}
	return redis.ErrIO.New("some of the requests that wait may have run: %s", why.Message())
}

// expired is the error of a deadline that has passed. If something was sent, it also matches
// context.DeadlineExceeded, so that go-redis does not retry.
type expired struct{ sent bool }

// Error implements error.
func (expired) Error() string { return "redisvirtual: i/o timeout" }

// Timeout implements net.Error.
func (expired) Timeout() bool { return true }

// Temporary implements net.Error.
func (expired) Temporary() bool { return true }

// Is implements the method that errors.Is calls.
func (e expired) Is(target error) bool {
	return target == os.ErrDeadlineExceeded || e.sent && target == context.DeadlineExceeded
}

var _ net.Error = expired{}

// refusedHere returns the reply to request n, if the library itself has refused the request with err.
// Otherwise it returns err as lost, the reason why there is no reply. A transaction is refused in the reply
// to EXEC, as servers do it, because clients close the connection after an unexpected reply to MULTI.
func (f *Flight) refusedHere(n int, err *errorx.Error) (frame []byte, lost *errorx.Error) {
	frame = f.replies[n].frame[:0]
	refused := err.IsOfType(redis.ErrNoSlotKey)
	switch {
	case refused && f.whole && n == 0:
		return append(frame, proto.OK...), nil
	case refused && f.whole && n < len(f.replies)-1:
		return append(frame, proto.Queued...), nil
	case refused && (f.whole || f.Reqs[n].Slot == send.ManySlots):
		return proto.AppendError(frame, "CROSSSLOT Keys in request don't hash to the same slot"), nil
	case refused:
		return proto.AppendError(frame, "ERR "+err.Message()), nil
	case err.IsOfType(redis.ErrCommandForbidden), err.IsOfType(redis.ErrCommandFormat), err.IsOfType(redis.ErrArgumentType):
		return proto.AppendError(frame, "ERR "+err.Message()), nil
	}
	return frame, err
}
