package redisconn

import (
	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/sock"
)

// ErrTraitInitPermanent marks failures to connect that retrying cannot fix: a wrong
// password, a database that does not exist, a certificate that does not verify, a server
// that does not speak the Redis protocol.
var ErrTraitInitPermanent = errs.ErrTraitInitPermanent

var (
	// ErrConnection is the namespace of failures to open or keep a connection. Requests
	// that fail with one of them were not sent: a retry is safe.
	ErrConnection = sock.ErrConnection
	// ErrNotConnected: there was no connection when the request was sent, or the connection broke
	// before any byte of the request was written. Its cause is the error that ended the last
	// connection, or the last attempt to connect.
	ErrNotConnected = sock.ErrNotConnected
	// ErrDial: the server can't be reached.
	ErrDial = dial.ErrDial
	// ErrTLS: either side refused the TLS handshake.
	ErrTLS = dial.ErrTLS
	// ErrAuth: the server refuses the user or the password.
	ErrAuth = dial.ErrAuth
	// ErrCredentials: Opts.CredentialsProvider failed. Its error is in
	// [EKCredentialsCause] and is not printed, because it may contain a secret.
	ErrCredentials = dial.ErrCredentials
	// ErrInit: the server refused the handshake, and would refuse another one, too.
	ErrInit = dial.ErrInit
	// ErrConnSetup: the handshake failed for a reason that may be temporary: an I/O error, or a
	// server that is loading or has too many clients.
	ErrConnSetup = dial.ErrConnSetup
	// ErrRole: the server does not have the role that Opts.Role asks for. That may change, so the
	// connection keeps dialing.
	ErrRole = dial.ErrRole
	// ErrStranger: the server at the address is not a node of the cluster that the client knows. The
	// address may have been given to another server, so the connection keeps dialing.
	ErrStranger = dial.ErrStranger
	// ErrClientName: Opts.ClientName has a space, or a character that is not printable
	// ASCII.
	ErrClientName = dial.ErrClientName
	// ErrAddress: the address is malformed.
	ErrAddress = dial.ErrAddress
)

var (
	// EKConnection is the *Connection that handled the request.
	EKConnection = errs.EKConnection
	// EKDb is the database that could not be selected (int).
	EKDb = dial.EKDb
	// EKCredentialsCause is the error that Opts.CredentialsProvider returned, or the reason why the
	// connection did not wait for the provider any longer (error).
	EKCredentialsCause = dial.EKCredentialsCause
)
