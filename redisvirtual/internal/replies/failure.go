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

// notSent is how a virtual connection ends if nothing of what waits for a reply was sent. Clients
// that send again what a broken connection has not answered may do so.
type notSent struct{ why *errorx.Error }

// Error implements error.
func (e notSent) Error() string { return e.why.Error() }

// Unwrap returns why, and what clients take for the end of a connection.
func (e notSent) Unwrap() []error { return []error{e.why, io.ErrUnexpectedEOF} }

// unknown is how it ends otherwise. Clients that send again must not take it for the end of a
// connection, so its causes do not show.
func unknown(why *errorx.Error) error {
	if !why.HasTrait(redis.ErrTraitNotSent) {
		return why
	}
	return redis.ErrIO.New("some of the requests that wait may have run: %s", why.Message())
}

// expired is a deadline that has passed. If something was sent, it is the end of a context, too:
// a client must not send it again, and go-redis goes by that.
type expired struct{ sent bool }

// Error implements error.
func (expired) Error() string { return "redisvirtual: i/o timeout" }

// Timeout implements net.Error.
func (expired) Timeout() bool { return true }

// Temporary implements net.Error.
func (expired) Temporary() bool { return true }

// Is is for errors.Is.
func (e expired) Is(target error) bool {
	return target == os.ErrDeadlineExceeded || e.sent && target == context.DeadlineExceeded
}

var _ net.Error = expired{}

// refusedHere returns the reply to request n, which this library has refused with err because of what it
// is, or lost: why there is no reply. A transaction is refused with EXEC, as servers do it: clients take
// another answer to MULTI for a connection that is out of step.
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
