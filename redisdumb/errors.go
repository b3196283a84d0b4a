package redisdumb

import "github.com/joomcode/redispipe/redis"

var (
	// ErrDial is a failure to connect, including TLS. Nothing was sent: a retry is safe.
	ErrDial = redis.ErrIO.NewSubtype("dial", redis.ErrTraitNotSent)
	// ErrUnsent is the error of the requests of a SendMany that were not yet written
	// when the socket broke. A retry is safe.
	ErrUnsent = redis.ErrIO.NewSubtype("unsent", redis.ErrTraitNotSent)

	// errNoAddress is the redis.ErrNoAddressProvided of an empty Conn.Addr.
	errNoAddress = redis.ErrNoAddressProvided.NewSubtype("dumb", redis.ErrTraitNotSent)
)

// broken reports whether res is an error after which the socket can't be used any more: any error except
// one from the server.
func broken(res any) bool {
	err := redis.AsErrorx(res)
	return err != nil && !err.IsOfType(redis.ErrResult)
}
