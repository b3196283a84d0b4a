package redis

import "github.com/joomcode/redispipe/internal/errs"

// Errors is the root namespace of all errors of this library. They have no stack
// traces: an error is made in the goroutine that reads the socket, so a trace would not
// show the caller. See [CollectTrace].
var Errors = errs.Errors

var (
	// ErrTraitNotSent marks a request that provably did not run, since no byte of it was
	// written to a socket: sending it again is safe.
	ErrTraitNotSent = errs.ErrTraitNotSent
	// ErrTraitConnectivity marks failures of the network or of the connection.
	ErrTraitConnectivity = errs.ErrTraitConnectivity
	// ErrTraitClusterMove marks server errors that come from slots on the move.
	ErrTraitClusterMove = errs.ErrTraitClusterMove
	// ErrTraitTransient marks errors by which a server says that it did not run the
	// request, for a reason that passes by itself: sending it again is safe.
	ErrTraitTransient = errs.ErrTraitTransient
)

var (
	// ErrOpts holds errors in the options of a constructor.
	ErrOpts = errs.ErrOpts
	// ErrContextIsNil is returned by a function that got a nil context. Not sent.
	ErrContextIsNil = errs.ErrContextIsNil
	// ErrNoAddressProvided is returned by a constructor that got no address.
	ErrNoAddressProvided = errs.ErrNoAddressProvided
	// ErrURL is returned by ParseURL of packages redisconn and rediscluster, and where a
	// URL is given instead of an address. Its text shows nothing of the URL but, at most,
	// the name of a parameter.
	ErrURL = errs.ErrURL

	// ErrContextClosed ends requests that are sent after Close, or after the end of the
	// context that the connection or cluster was made with. Not sent.
	ErrContextClosed = errs.ErrContextClosed
	// ErrIO is a failure of the connection: reading or writing failed, or the answer did not
	// come in time. The request may have run: send it again only if it may run twice.
	ErrIO = errs.ErrIO
	// ErrQueueFull ends a request because the queue of the connection is full. Not
	// sent: retry later, or send less.
	ErrQueueFull = errs.ErrQueueFull
)

var (
	// ErrRequest holds errors in a request. It was not sent, and sending it
	// again unchanged gives the same error.
	ErrRequest = errs.ErrRequest
	// ErrArgumentType: an argument has a type that can't be encoded. EKArgPos is its
	// index. Not sent.
	ErrArgumentType = errs.ErrArgumentType
	// ErrBatchFormat: another request of the same batch is malformed. Not sent.
	ErrBatchFormat = errs.ErrBatchFormat
	// ErrNoSlotKey: the keys of the request, or of the transaction, are not of one
	// slot. Not sent.
	ErrNoSlotKey = errs.ErrNoSlotKey
	// ErrCommandFormat: Request.Cmd has to be one word of printable characters, or two
	// with one space between them. Not sent.
	ErrCommandFormat = errs.ErrCommandFormat
	// ErrCommandForbidden: the command would block a socket that others share, or
	// change its state. The text says what to use instead. Not sent.
	ErrCommandForbidden = errs.ErrCommandForbidden
	// ErrScriptHash: a server's hash of a [Script] differs from the library's, or from
	// that of another server, or this program must not compute it (FIPS 140). Use
	// [Script.ServerHash]. Not sent.
	ErrScriptHash = errs.ErrScriptHash
	// ErrSession: a session can't be opened, or not be used in this way. Not sent.
	ErrSession = errs.ErrSession
	// ErrSessionClosed: the session was used after Close. Not sent.
	ErrSessionClosed = errs.ErrSessionClosed
	// ErrSessionBusy: two goroutines use the session at once. Not sent.
	ErrSessionBusy = errs.ErrSessionBusy
	// ErrSessionLost: the session's connection, with all of its state, was lost before this
	// request. Not sent: begin again with a new session.
	ErrSessionLost = errs.ErrSessionLost
	// ErrRequestCancelled: the caller's context ended, or its future was cancelled,
	// before the answer came. The request may have run, unless the error is an
	// [ErrRequestWithdrawn].
	ErrRequestCancelled = errs.ErrRequestCancelled
	// ErrRequestWithdrawn is the [ErrRequestCancelled] of a request that did not run: it
	// was withdrawn before any of it was written, or it is a blocking command that the
	// server unblocked before it had done anything, or every node of a cluster that got
	// it refused it, as with MOVED. A retry is safe.
	ErrRequestWithdrawn = errs.ErrRequestWithdrawn
	// ErrOverloaded is the [ErrRequestWithdrawn] of a request whose deadline can't be
	// met any more, judging by how long others wait for the server. It comes before the
	// deadline. Not sent.
	ErrOverloaded = errs.ErrOverloaded
)

var (
	// ErrResponse holds errors in what a server sent. After an invalid reply the
	// connection is closed, since nothing that follows can be trusted.
	ErrResponse = errs.ErrResponse
	// ErrResponseFormat: not valid RESP.
	ErrResponseFormat = errs.ErrResponseFormat
	// ErrResponseUnexpected: a valid reply, but not of the shape or type that was asked
	// for.
	ErrResponseUnexpected = errs.ErrResponseUnexpected
	// ErrResponseNil is the [ErrResponseUnexpected] of null where a value was asked for.
	ErrResponseNil = errs.ErrResponseNil
	// ErrResponseTooLarge: a length, an element count or a nesting over its bound.
	ErrResponseTooLarge = errs.ErrResponseTooLarge
	// ErrHeaderlineTooLarge: a header line over its bound.
	ErrHeaderlineTooLarge = errs.ErrHeaderlineTooLarge
	// ErrHeaderlineEmpty: an empty header line.
	ErrHeaderlineEmpty = errs.ErrHeaderlineEmpty
	// ErrIntegerParsing: a malformed number or length.
	ErrIntegerParsing = errs.ErrIntegerParsing
	// ErrNoFinalRN: a line or a body that does not end in CRLF.
	ErrNoFinalRN = errs.ErrNoFinalRN
	// ErrUnknownHeaderType: a header line that begins with no known type.
	ErrUnknownHeaderType = errs.ErrUnknownHeaderType
	// ErrTransaction: MULTI was not accepted, or EXEC did not answer with one result for
	// each request. The requests may have run, perhaps one by one. Don't send them again
	// unless they may run twice.
	ErrTransaction = errs.ErrTransaction
	// ErrPing: a heartbeat was answered with something other than its nonce.
	ErrPing = errs.ErrPing
)

var (
	// ErrResult is an error that the server answered with. It shows the server's text,
	// except for parts that may be arguments: the text of the codes ERR and NOGROUP ends
	// before the first quotation mark, colon or number of several digits. Errors of other
	// codes, and those that scripts raise, are shown whole. [EKText] has the whole text.
	ErrResult = errs.ErrResult
	// ErrMoved is MOVED: another node has the slot (EKMovedTo, EKSlot).
	ErrMoved = errs.ErrMoved
	// ErrAsk is ASK: the key has already been moved to another node (EKMovedTo,
	// EKSlot).
	ErrAsk = errs.ErrAsk
	// ErrClusterDown is CLUSTERDOWN: the cluster does not serve the slot now.
	ErrClusterDown = errs.ErrClusterDown
	// ErrTryAgain is TRYAGAIN: keys of one request are on both sides of a migration.
	ErrTryAgain = errs.ErrTryAgain
	// ErrLoading is LOADING: the server is reading its data set, and ran nothing.
	ErrLoading = errs.ErrLoading
	// ErrReadOnly is READONLY: a write reached a replica and did not run.
	ErrReadOnly = errs.ErrReadOnly
	// ErrMasterDown is MASTERDOWN: a replica has lost its master, and is configured not
	// to answer with stale data.
	ErrMasterDown = errs.ErrMasterDown
	// ErrBusy is BUSY: a script has been running for longer than the server's limit,
	// and nothing else runs.
	ErrBusy = errs.ErrBusy
	// ErrMaxClients: the server has its maximum number of clients, and refused the
	// connection.
	ErrMaxClients = errs.ErrMaxClients
	// ErrUnblocked is UNBLOCKED from a server whose role has changed, as at a failover: the command
	// blocked there, and did nothing.
	ErrUnblocked = errs.ErrUnblocked
	// ErrNoScript is NOSCRIPT: the server does not have the script, and ran nothing. A
	// [Script] then sends its body.
	ErrNoScript = errs.ErrNoScript
	// ErrExecEmpty is the [ErrResult] of a transaction whose EXEC answered null, because a
	// watched key was changed. Nothing ran.
	ErrExecEmpty = errs.ErrExecEmpty
	// ErrExecAbort is EXECABORT: a request of the transaction was refused, and none
	// ran. It says which, has that request as [EKRequest], and why it was refused as its
	// Cause, unless the server has not told.
	ErrExecAbort = errs.ErrExecAbort
)

// Properties of errors. Those that may hold arguments or replies are not
// printed with the error.
var (
	// EKLine is the offending header line ([]byte).
	EKLine = errs.EKLine
	// EKMovedTo is the address in a MOVED or ASK (string).
	EKMovedTo = errs.EKMovedTo
	// EKSlot is the slot in a MOVED or ASK (int64).
	EKSlot = errs.EKSlot
	// EKVal is an argument that can't be encoded.
	EKVal = errs.EKVal
	// EKArgPos is the index of an argument in Request.Args (int).
	EKArgPos = errs.EKArgPos
	// EKRequest is the request that failed ([Request]). It prints without the values of
	// its arguments. If it was sent by a method of [Sender], and not of Sync or SyncCtx,
	// its arguments are strings, as they were sent.
	EKRequest = errs.EKRequest
	// EKRequests is the batch or transaction that failed ([]Request).
	EKRequests = errs.EKRequests
	// EKText is the whole text of a server's error (string), if the error shows only a
	// part of it, or more: see [ErrResult] and [ErrExecAbort].
	EKText = errs.EKText
	// EKResponse is the unexpected response.
	EKResponse = errs.EKResponse
	// EKCause is the error (error) that one of the user's methods returned, such as
	// MarshalText.
	EKCause = errs.EKCause
	// EKAddress is the address of the server (string).
	EKAddress = errs.EKAddress
)
