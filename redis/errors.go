package redis

import "github.com/joomcode/redispipe/internal/errs"

// Errors is the root namespace of all errors of this library. They have no stack
// traces: an error is made in the goroutine that reads the socket, so a trace would not
// show the caller. See [CollectTrace].
var Errors = errs.Errors

var (
	// ErrTraitNotSent marks a request that did not run, because no byte of it was
	// written to a socket: a retry is safe.
	ErrTraitNotSent = errs.ErrTraitNotSent
	// ErrTraitConnectivity marks failures of the network or of the connection.
	ErrTraitConnectivity = errs.ErrTraitConnectivity
	// ErrTraitClusterMove marks server errors that moving slots cause.
	ErrTraitClusterMove = errs.ErrTraitClusterMove
	// ErrTraitTransient marks errors with which a server refuses to run a request for a
	// temporary reason: a retry is safe.
	ErrTraitTransient = errs.ErrTraitTransient
)

var (
	// ErrOpts holds errors in the options of a constructor.
	ErrOpts = errs.ErrOpts
	// ErrContextIsNil is returned by a function that got a nil context. Not sent.
	ErrContextIsNil = errs.ErrContextIsNil
	// ErrNoAddressProvided is returned by a constructor that got no address.
	ErrNoAddressProvided = errs.ErrNoAddressProvided
	// ErrURL is returned by ParseURL of packages redisconn and rediscluster, and by constructors
	// that get a URL as an address. Its text shows no part of the URL except, at most, the name of
	// a parameter.
	ErrURL = errs.ErrURL
	// ErrOption is returned by a constructor if an option is out of its bounds. The text names the option.
	ErrOption = errs.ErrOption

	// ErrContextClosed is the error of requests that are sent after Close, or after the end of
	// the context with which the connection or cluster was created. Not sent.
	ErrContextClosed = errs.ErrContextClosed
	// ErrIO is a failure of the connection: reading or writing failed, or the answer did not
	// arrive in time. The request may have run: send it again only if it may run twice.
	ErrIO = errs.ErrIO
	// ErrProxy: a proxy answered in place of the server, for example because it did not wait any longer. The
	// request may have run.
	ErrProxy = errs.ErrProxy
	// ErrQueueFull: the queue of the connection is full. Not
	// sent: retry later, or send less.
	ErrQueueFull = errs.ErrQueueFull
)

var (
	// ErrRequest holds errors in a request. The request was not sent; if you send it again
	// unchanged, it fails with the same error.
	ErrRequest = errs.ErrRequest
	// ErrArgumentType: an argument has a type that can't be encoded. EKArgPos is its
	// index. Not sent.
	ErrArgumentType = errs.ErrArgumentType
	// ErrBatchFormat: another request of the same batch is malformed. Not sent.
	ErrBatchFormat = errs.ErrBatchFormat
	// ErrNoSlotKey: the keys of the request, or of the transaction, are not all in one
	// slot. Not sent.
	ErrNoSlotKey = errs.ErrNoSlotKey
	// ErrCommandFormat: Request.Cmd must be one word of printable characters, or two
	// with one space between them. Not sent.
	ErrCommandFormat = errs.ErrCommandFormat
	// ErrCommandForbidden: the command would block a socket that others share, or
	// change its state. The text says what to use instead. Not sent.
	ErrCommandForbidden = errs.ErrCommandForbidden
	// ErrKeysUnknown: a sender of [WithPrefix] refused a request, because it does not know which
	// keys the request would touch. Not sent. Send the request through the sender that was passed
	// to WithPrefix.
	ErrKeysUnknown = errs.ErrKeysUnknown
	// ErrRequestTooLarge: the request, or the batch, is larger than Opts.MaxBytes of the connection.
	// Not sent. Raise that option, send less at once, or stream the value.
	ErrRequestTooLarge = errs.ErrRequestTooLarge
	// ErrScriptHash: a server's hash of a [Script] differs from the library's, or from
	// that of another server, or this program must not compute it (FIPS 140). Use
	// [Script.ServerHash]. Not sent.
	ErrScriptHash = errs.ErrScriptHash
	// ErrSession: a session can't be opened or can't be used in this way. Not sent.
	ErrSession = errs.ErrSession
	// ErrSessionClosed: the session was used after Close. Not sent.
	ErrSessionClosed = errs.ErrSessionClosed
	// ErrSessionBusy: two goroutines use the session at once. Not sent.
	ErrSessionBusy = errs.ErrSessionBusy
	// ErrSessionLost: the session's connection, with all of its state, was lost before this
	// request. Not sent: start over with a new session.
	ErrSessionLost = errs.ErrSessionLost
	// ErrRequestCancelled: the caller's context ended, or its future was cancelled,
	// before the answer arrived. The request may have run, unless the error is an
	// [ErrRequestWithdrawn].
	ErrRequestCancelled = errs.ErrRequestCancelled
	// ErrRequestWithdrawn is the [ErrRequestCancelled] of a request that did not run: the
	// client withdrew it before it wrote any of it, or the server unblocked a blocking
	// command before it had done anything, or every node of a cluster that got the request
	// refused it, for example with MOVED. A retry is safe.
	ErrRequestWithdrawn = errs.ErrRequestWithdrawn
	// ErrOverloaded is the [ErrRequestWithdrawn] of a request that can't meet its deadline,
	// because other requests wait too long for the server. It is returned before the
	// deadline. Not sent.
	ErrOverloaded = errs.ErrOverloaded
)

var (
	// ErrResponse holds errors in a server's replies. After an invalid reply the
	// client closes the connection, because it can't trust the bytes that follow.
	ErrResponse = errs.ErrResponse
	// ErrResponseFormat: not valid RESP.
	ErrResponseFormat = errs.ErrResponseFormat
	// ErrResponseUnexpected: a valid reply that does not have the requested shape or type.
	ErrResponseUnexpected = errs.ErrResponseUnexpected
	// ErrResponseNil is the [ErrResponseUnexpected] of null for a type that can't be nil.
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
	// ErrUnknownHeaderType: a header line that starts with an unknown type.
	ErrUnknownHeaderType = errs.ErrUnknownHeaderType
	// ErrTransaction: the server refused MULTI, or EXEC did not return one result for
	// each request. The requests may have run, perhaps one by one. Don't send them again
	// unless they may run twice.
	ErrTransaction = errs.ErrTransaction
	// ErrPing: the answer to a heartbeat was not its nonce.
	ErrPing = errs.ErrPing
)

var (
	// ErrResult is an error from the server. It shows the server's text, except for parts that may
	// be arguments. With the codes ERR and NOGROUP, it shows the text only up to the first
	// quotation mark, colon or number of several digits. Errors with other codes, and errors that
	// scripts raise, are shown whole. [EKText] has the whole text.
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
	// ErrRedirect is REDIRECT from Valkey: the server is a replica, although the connection asked
	// for a master (Opts.Role). EKMovedTo is the address of its master. The request did not run,
	// except for a script that itself returned such an error.
	ErrRedirect = errs.ErrRedirect
	// ErrMasterDown is MASTERDOWN: a replica has lost its master, and is configured not
	// to answer with stale data.
	ErrMasterDown = errs.ErrMasterDown
	// ErrBusy is BUSY: a script has been running for longer than the server's limit,
	// and nothing else runs.
	ErrBusy = errs.ErrBusy
	// ErrMaxClients: the server has its maximum number of clients, and refused the
	// connection.
	ErrMaxClients = errs.ErrMaxClients
	// ErrUnblocked is UNBLOCKED from a server whose role has changed, for example in a failover: the
	// command blocked there and did nothing.
	ErrUnblocked = errs.ErrUnblocked
	// ErrNoScript is NOSCRIPT: the server does not have the script, and ran nothing. A
	// [Script] then sends its body.
	ErrNoScript = errs.ErrNoScript
	// ErrExecEmpty is the [ErrResult] of a transaction whose EXEC returned null, because a
	// watched key was changed. Nothing ran.
	ErrExecEmpty = errs.ErrExecEmpty
	// ErrExecAbort is EXECABORT: the server refused a request of the transaction, and none
	// ran. The error names the request ([EKRequest]); its Cause is the reason for the refusal,
	// if the server gave one.
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
	// its arguments. If it was sent with a method of [Sender] rather than of Sync or SyncCtx,
	// its arguments are strings, as they were sent.
	EKRequest = errs.EKRequest
	// EKRequests is the batch or transaction that failed ([]Request).
	EKRequests = errs.EKRequests
	// EKText is the whole text of a server's error (string), if the error shows a different
	// text: see [ErrResult] and [ErrExecAbort].
	EKText = errs.EKText
	// EKResponse is the unexpected response.
	EKResponse = errs.EKResponse
	// EKCause is the error (error) that a user's method returned, such as MarshalText.
	EKCause = errs.EKCause
	// EKAddress is the address of the server (string).
	EKAddress = errs.EKAddress
)
