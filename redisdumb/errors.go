package redisdumb

import "github.com/joomcode/redispipe/redis"

var (
	// ErrDial is a failure to connect, TLS included. Nothing was sent: it is
	// safe to send the request again.
	ErrDial = redis.ErrIO.NewSubtype("dial", redis.ErrTraitNotSent)
	// ErrUnsent resolves the requests of a SendMany that were not yet written
	// when the socket broke. It is safe to send them again.
	ErrUnsent = redis.ErrIO.NewSubtype("unsent", redis.ErrTraitNotSent)

	// errNoAddress is the redis.ErrNoAddressProvided of an empty Conn.Addr.
	errNoAddress = redis.ErrNoAddressProvided.NewSubtype("dumb", redis.ErrTraitNotSent)
)

// broken reports whether res leaves the stream in doubt: any error except one
// that the server answered with.
func broken(res any) bool {
	err := redis.AsErrorx(res)
	return err != nil && !err.IsOfType(redis.ErrResult)
}
