package redisconn

import (
	"errors"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
)

// ErrTraitInitPermanent marks failures to connect that dialing again will not
// mend: a wrong password, a database that does not exist, a certificate that
// does not verify, a server that is not a Redis.
var ErrTraitInitPermanent = errorx.RegisterTrait("init_permanent")

var (
	// ErrConnection is the namespace of failures to get or keep a connection. A request that
	// ends with one of them was not sent: retry is safe.
	ErrConnection = redis.Errors.NewSubNamespace("connection", redis.ErrTraitNotSent, redis.ErrTraitConnectivity)
	// ErrNotConnected: there was no connection when the request was sent, or
	// it broke before anything of the request was written. What ended the last
	// connection, or the last attempt at one, is its cause.
	ErrNotConnected = ErrConnection.NewType("not_connected")
	// ErrDial: the server can't be reached.
	ErrDial = ErrConnection.NewType("dial")
	// ErrTLS: the TLS handshake was refused by either side.
	ErrTLS = ErrConnection.NewType("tls", ErrTraitInitPermanent)
	// ErrAuth: the server refuses the user or the password.
	ErrAuth = ErrConnection.NewType("auth", ErrTraitInitPermanent)
	// ErrCredentials: Opts.CredentialsProvider failed. Since the text of its error may
	// show a secret, that error is in EKCredentialsCause, and not printed.
	ErrCredentials = ErrConnection.NewType("credentials")
	// ErrInit: the server refuses the handshake for good.
	ErrInit = ErrConnection.NewType("init", ErrTraitInitPermanent)
	// ErrConnSetup: the handshake failed in a way that may pass: an I/O error,
	// a server that is loading or has too many clients.
	ErrConnSetup = ErrConnection.NewType("setup")
	// ErrRole: the server is not of Opts.Role, which may change.
	ErrRole = ErrConnection.NewType("role")
	// ErrClientName: Opts.ClientName has a space, or a character that is not printable
	// ASCII.
	ErrClientName = redis.ErrOpts.NewType("client_name", ErrTraitInitPermanent)
	// ErrAddress: the address is malformed.
	ErrAddress = redis.ErrOpts.NewType("address", ErrTraitInitPermanent)
)

var (
	// EKConnection is the *Connection that handled the request.
	EKConnection = errorx.RegisterProperty("connection")
	// EKDb is the database that could not be selected (int).
	EKDb = errorx.RegisterPrintableProperty("db")
	// EKCredentialsCause is the error that Opts.CredentialsProvider returned.
	EKCredentialsCause = errorx.RegisterProperty("credentials_cause")
)

// errClosed is what ends a connection that its user has closed.
func errClosed() *errorx.Error { return redis.ErrContextClosed.New("connection is closed") }

// errUnsolicited says that something came that nobody asked for.
var errUnsolicited = errors.New("a reply that nobody asked for")
