package redisconn

import (
	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/queue"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// ErrTraitInitPermanent marks failures to connect that dialing again will not
// mend: a wrong password, a database that does not exist, a certificate that
// does not verify, a server that is not a Redis.
var ErrTraitInitPermanent = wire.ErrTraitInitPermanent

var (
	// ErrConnection is the namespace of failures to make or keep a connection. Requests
	// that end with one of them were not sent: a retry is safe.
	ErrConnection = redis.Errors.NewSubNamespace("connection", redis.ErrTraitNotSent, redis.ErrTraitConnectivity)
	// ErrNotConnected: there was no connection when the request was sent, or it broke
	// before anything of the request was written. Its cause is the error that ended the
	// last connection, or the last attempt to connect.
	ErrNotConnected = ErrConnection.NewType("not_connected")
	// ErrDial: the server can't be reached.
	ErrDial = ErrConnection.NewType("dial")
	// ErrTLS: either side refused the TLS handshake.
	ErrTLS = ErrConnection.NewType("tls", ErrTraitInitPermanent)
	// ErrAuth: the server refuses the user or the password.
	ErrAuth = ErrConnection.NewType("auth", ErrTraitInitPermanent)
	// ErrCredentials: Opts.CredentialsProvider failed. Its error is in
	// [EKCredentialsCause] and is not printed, since it may contain a secret.
	ErrCredentials = ErrConnection.NewType("credentials")
	// ErrInit: the server refused the handshake, and will refuse it again.
	ErrInit = ErrConnection.NewType("init", ErrTraitInitPermanent)
	// ErrConnSetup: the handshake failed for a reason that may pass: an I/O error, or a
	// server that is loading or has too many clients.
	ErrConnSetup = ErrConnection.NewType("setup")
	// ErrRole: the server does not have Opts.Role. That may change.
	ErrRole = ErrConnection.NewType("role")
	// ErrClientName: Opts.ClientName has a space, or a character that is not printable
	// ASCII.
	ErrClientName = redis.ErrOpts.NewType("client_name", ErrTraitInitPermanent)
	// ErrAddress: the address is malformed.
	ErrAddress = redis.ErrOpts.NewType("address", ErrTraitInitPermanent)
)

var (
	// EKConnection is the *Connection that handled the request.
	EKConnection = wire.NewProperty("connection")
	// EKDb is the database that could not be selected (int).
	EKDb = wire.NewPrintableProperty("db")
	// EKCredentialsCause is the error that Opts.CredentialsProvider returned, or why it
	// was not waited for.
	EKCredentialsCause = wire.NewProperty("credentials_cause")
)

// errClosed is what ends a connection that its user has closed.
func errClosed() *errorx.Error { return queue.ErrClosed() }
