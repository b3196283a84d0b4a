package redis

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/wire"
)

// Errors is the root namespace of all errors of this library. They have no stack
// traces: an error is made in the goroutine that reads the socket, so a trace would not
// show the caller. See [CollectTrace].
var Errors = resp.Errors

var (
	// ErrTraitNotSent marks a request of which provably no byte reached a
	// socket write. It did not run: sending it again is safe.
	ErrTraitNotSent = errorx.RegisterTrait("request_not_sent")
	// ErrTraitConnectivity marks failures of the network or of the connection.
	ErrTraitConnectivity = resp.ErrTraitConnectivity
	// ErrTraitClusterMove marks server errors that come from slots on the move.
	ErrTraitClusterMove = resp.ErrTraitClusterMove
	// ErrTraitTransient marks errors by which a server says that it did not run the
	// request, for a reason that passes by itself: sending it again is safe.
	ErrTraitTransient = resp.ErrTraitTransient
)

var (
	// ErrOpts holds errors in the options of a constructor.
	ErrOpts = Errors.NewSubNamespace("opts")
	// ErrContextIsNil is returned by a constructor that got a nil context.
	ErrContextIsNil = ErrOpts.NewType("context_is_nil")
	// ErrNoAddressProvided is returned by a constructor that got no address.
	ErrNoAddressProvided = ErrOpts.NewType("no_address")
	// ErrURL is returned by ParseURL of packages redisconn and rediscluster, and where a
	// URL is given instead of an address. Of the URL it shows at most the name of a
	// parameter.
	ErrURL = ErrOpts.NewType("url")

	// ErrContextClosed ends requests that are sent after Close, or after the end of the
	// context that the connection or cluster was made with. Not sent.
	ErrContextClosed = Errors.NewType("context_closed", ErrTraitNotSent)
	// ErrIO is a failure to read or write, or a time-out. The request may have run:
	// send it again only if it may run twice.
	ErrIO = resp.ErrIO
	// ErrQueueFull ends a request because the queue of the connection is full. Not
	// sent: retry later, or send less.
	ErrQueueFull = Errors.NewType("queue_full", ErrTraitNotSent)
)

var (
	// ErrRequest holds errors in a request. It was not sent, and sending it
	// again unchanged gives the same error.
	ErrRequest = Errors.NewSubNamespace("request")
	// ErrArgumentType: an argument has a type that can't be encoded. EKArgPos is its
	// index.
	ErrArgumentType = ErrRequest.NewType("argument_type", ErrTraitNotSent)
	// ErrBatchFormat: another request of the same batch is malformed.
	ErrBatchFormat = ErrRequest.NewType("batch_format", ErrTraitNotSent)
	// ErrNoSlotKey: the keys of the request, or of the transaction, are not of one
	// slot.
	ErrNoSlotKey = ErrRequest.NewType("no_slot_key", ErrTraitNotSent)
	// ErrCommandFormat: Request.Cmd has to be one word of printable characters, or two
	// with one space between them.
	ErrCommandFormat = ErrRequest.NewType("command_format", ErrTraitNotSent)
	// ErrCommandForbidden: the command would block a socket that others share, or
	// change its state. The text says what to use instead.
	ErrCommandForbidden = ErrRequest.NewType("command_forbidden", ErrTraitNotSent)
	// ErrScriptHash: a server's hash of a [Script] differs from the library's, or from
	// that of another server. Use [Script.ServerHash].
	ErrScriptHash = ErrRequest.NewType("script_hash", ErrTraitNotSent)
	// ErrSession: a session can't be opened, or not be used in this way. Not sent.
	ErrSession = ErrRequest.NewType("session", ErrTraitNotSent)
	// ErrSessionClosed: the session was used after Close. Not sent.
	ErrSessionClosed = ErrSession.NewSubtype("closed")
	// ErrSessionBusy: two goroutines use the session at once. Not sent.
	ErrSessionBusy = ErrSession.NewSubtype("busy")
	// ErrSessionLost: the session's connection was lost before this request, with all
	// of its state. Not sent: begin again with a new session.
	ErrSessionLost = ErrSession.NewSubtype("lost", ErrTraitConnectivity)
	// ErrRequestCancelled: the caller's context ended, or its future was cancelled,
	// before the answer came. The request may have run, unless the error is an
	// [ErrRequestWithdrawn].
	ErrRequestCancelled = ErrRequest.NewType("request_cancelled")
	// ErrRequestWithdrawn is the [ErrRequestCancelled] of a request that was withdrawn
	// before any of it was written, or of a blocking command that the server unblocked
	// before it had done anything, or that all nodes of a cluster had refused, as with
	// MOVED. It did not run: a retry is safe.
	ErrRequestWithdrawn = ErrRequestCancelled.NewSubtype("withdrawn", ErrTraitNotSent)
	// ErrOverloaded is the [ErrRequestWithdrawn] of a request whose deadline can't be
	// met any more, judging by how long others wait for the server. It comes before the
	// deadline. Not sent.
	ErrOverloaded = ErrRequestWithdrawn.NewSubtype("overloaded")
)

var (
	// ErrResponse holds errors in what a server sent. If that is not a valid reply, the
	// connection is closed, since nothing after it can be trusted.
	ErrResponse = resp.ErrResponse
	// ErrResponseFormat: not valid RESP.
	ErrResponseFormat = resp.ErrResponseFormat
	// ErrResponseUnexpected: a valid reply, but not of the shape or type that was asked
	// for.
	ErrResponseUnexpected = ErrResponse.NewType("unexpected")
	// ErrResponseNil: null, but a value was asked for.
	ErrResponseNil = ErrResponseUnexpected.NewSubtype("nil")
	// ErrResponseTooLarge: a length, an element count or a nesting over its bound.
	ErrResponseTooLarge = resp.ErrResponseTooLarge
	// ErrHeaderlineTooLarge: a header line over its bound.
	ErrHeaderlineTooLarge = resp.ErrHeaderlineTooLarge
	// ErrHeaderlineEmpty: an empty header line.
	ErrHeaderlineEmpty = resp.ErrHeaderlineEmpty
	// ErrIntegerParsing: a malformed number or length.
	ErrIntegerParsing = resp.ErrIntegerParsing
	// ErrNoFinalRN: a line or a body that does not end in CRLF.
	ErrNoFinalRN = resp.ErrNoFinalRN
	// ErrUnknownHeaderType: a header line that begins with no known type.
	ErrUnknownHeaderType = resp.ErrUnknownHeaderType
	// ErrTransaction: MULTI was not accepted, or EXEC did not answer with as many results
	// as there were requests. They may have run, also one by one.
	ErrTransaction = ErrResponse.NewType("transaction")
	// ErrPing: a heartbeat was answered with something other than its nonce.
	ErrPing = ErrResponse.NewType("ping")
)

var (
	// ErrResult is an error that the server answered with. It shows the server's text,
	// except for what may be an argument: the text of the codes ERR and NOGROUP ends
	// before the first quotation, colon or number of several digits. Errors of other
	// codes, and those that scripts raise, are shown whole. [EKText] has the whole
	// text.
	ErrResult = resp.ErrResult
	// ErrMoved is MOVED: another node has the slot (EKMovedTo, EKSlot).
	ErrMoved = resp.ErrMoved
	// ErrAsk is ASK: the key has already been moved to another node (EKMovedTo,
	// EKSlot).
	ErrAsk = resp.ErrAsk
	// ErrClusterDown is CLUSTERDOWN: the cluster does not serve the slot now.
	ErrClusterDown = resp.ErrClusterDown
	// ErrTryAgain is TRYAGAIN: keys of one request are on both sides of a migration.
	ErrTryAgain = resp.ErrTryAgain
	// ErrLoading is LOADING: the server is reading its data set, and ran nothing.
	ErrLoading = resp.ErrLoading
	// ErrReadOnly is READONLY: a write reached a replica and did not run.
	ErrReadOnly = resp.ErrReadOnly
	// ErrMasterDown is MASTERDOWN: a replica has lost its master, and is configured not
	// to answer with stale data.
	ErrMasterDown = resp.ErrMasterDown
	// ErrBusy is BUSY: a script has been running for longer than the server's limit,
	// and nothing else runs.
	ErrBusy = resp.ErrBusy
	// ErrMaxClients: the server has its maximum number of clients, and refused the
	// connection.
	ErrMaxClients = resp.ErrMaxClients
	// ErrNoScript is NOSCRIPT: the server does not have the script, and ran nothing. A
	// [Script] is sent again with its body then.
	ErrNoScript = resp.ErrNoScript
	// ErrExecEmpty: EXEC answered null, because a watched key was changed. Nothing ran.
	ErrExecEmpty = ErrResult.NewSubtype("exec_empty")
	// ErrExecAbort is EXECABORT: a command of the transaction was refused, and none
	// ran.
	ErrExecAbort = resp.ErrExecAbort
)

// Properties of errors. Those that may hold arguments or replies are not
// printed with the error.
var (
	// EKLine is the offending header line ([]byte).
	EKLine = resp.EKLine
	// EKMovedTo is the address in a MOVED or ASK (string).
	EKMovedTo = resp.EKMovedTo
	// EKSlot is the slot in a MOVED or ASK (int64).
	EKSlot = resp.EKSlot
	// EKVal is an argument that can't be encoded.
	EKVal = wire.NewProperty("val")
	// EKArgPos is the index of an argument in Request.Args (int).
	EKArgPos = wire.NewPrintableProperty("argpos")
	// EKRequest is the request that failed ([Request]). It prints without the values of
	// its arguments. Requests that came through methods of [Sender], and not of Sync or
	// SyncCtx, have their arguments as they were sent: as strings.
	EKRequest = wire.NewPrintableProperty("request")
	// EKRequests is the batch or transaction that failed ([]Request).
	EKRequests = wire.NewProperty("requests")
	// EKText is the whole text of a server's error (string), if the error shows only a
	// part of it: see [ErrResult].
	EKText = resp.EKText
	// EKResponse is the unexpected response.
	EKResponse = wire.NewProperty("response")
	// EKCause is the error that a method of the user's returned, such as MarshalText
	// (error).
	EKCause = wire.NewProperty("cause")
	// EKAddress is the address of the server (string).
	EKAddress = wire.NewPrintableProperty("address")
)

// CollectTrace makes Sync and SyncCtx add the caller's stack trace to errors, which
// costs microseconds. Set it before the first request. Default false.
var CollectTrace = false

// AsErrorx returns res as an *errorx.Error if it is an error, and nil otherwise. An
// error of another type is wrapped: see errorx.Cast for the cause.
func AsErrorx(res any) *errorx.Error {
	err, ok := res.(error)
	if !ok {
		return nil
	}
	var typed *errorx.Error
	if errors.As(err, &typed) {
		return typed
	}
	return ErrResponseUnexpected.WrapWithNoMessage(err)
}

// within returns an error that says which part of a request or result it is about, and else
// is like err: in its type, its cause and its properties.
func within(err error, format string, args ...any) *errorx.Error {
	inner := AsErrorx(err)
	return wire.Like(inner, inner.Cause(), fmt.Sprintf(format, args...)+": "+inner.Message())
}

// traced adds the caller's stack trace to errors, if that is asked for.
func traced(res any) any {
	if err, ok := res.(error); ok && CollectTrace {
		return errorx.EnsureStackTrace(plain(err))
	}
	return res
}

// byUser is the error of a method of a user's type. Only one of this library's
// kind is known to show no value.
func byUser(kind *errorx.Type, err error, method string, t reflect.Type) error {
	if err == nil {
		return nil
	}
	if typed := errorx.Cast(plain(err)); typed != nil {
		return typed
	}
	return kind.New("%s of %v failed", method, t).WithProperty(EKCause, err)
}

func errContextIsNil() error { return ErrContextIsNil.New("context is nil") }

func errArgType(format string, args ...any) error {
	return ErrArgumentType.New(format, args...)
}

// unfit says why a result, or a part of one, can't be read as a t: it may be an error. text is
// what it stands for, if it is a single value.
func unfit(t reflect.Type, text []byte, res any) error {
	kind := t.Kind()
	switch err := errorOf(res); {
	case err != nil:
		return err
	case res == nil:
		return errNull(t)
	case reflect.Int <= kind && kind <= reflect.Uintptr && resp.IsWhole(text):
		return errRange(t)
	}
	return mismatch(t, res)
}

func mismatch(want reflect.Type, res any) error {
	return ErrResponseUnexpected.New("a reply of type %T can't be read as %v", res, want).
		WithProperty(EKResponse, res)
}

func errNull(want reflect.Type) error {
	return ErrResponseNil.New("null can't be read as %v", want)
}

func errRange(want reflect.Type) error {
	return ErrResponseUnexpected.New("the reply is out of the range of %v", want)
}
