package errs

import (
	"context"

	"github.com/joomcode/errorx"
)

// These are the types of errors, with their namespaces and traits.
var (
	Errors = errorx.NewNamespace("redispipe").ApplyModifiers(errorx.TypeModifierOmitStackTrace)

	ErrTraitNotSent       = errorx.RegisterTrait("request_not_sent")
	ErrTraitConnectivity  = errorx.RegisterTrait("network")
	ErrTraitClusterMove   = errorx.RegisterTrait("cluster_move")
	ErrTraitTransient     = errorx.RegisterTrait("transient")
	ErrTraitInitPermanent = errorx.RegisterTrait("init_permanent") // exported by package redisconn

	ErrOpts              = Errors.NewSubNamespace("opts")
	ErrContextIsNil      = ErrOpts.NewType("context_is_nil")
	ErrNoAddressProvided = ErrOpts.NewType("no_address")
	ErrURL               = ErrOpts.NewType("url")
	ErrNoSender          = ErrOpts.NewType("no_sender")
	ErrOption            = ErrOpts.NewType("option")

	ErrContextClosed = Errors.NewType("context_closed", ErrTraitNotSent)
	ErrIO            = Errors.NewType("io", ErrTraitConnectivity)
	ErrProxy         = Errors.NewType("proxy")
	ErrQueueFull     = Errors.NewType("queue_full", ErrTraitNotSent)

	ErrRequest          = Errors.NewSubNamespace("request")
	ErrArgumentType     = ErrRequest.NewType("argument_type", ErrTraitNotSent)
	ErrBatchFormat      = ErrRequest.NewType("batch_format", ErrTraitNotSent)
	ErrNoSlotKey        = ErrRequest.NewType("no_slot_key", ErrTraitNotSent)
	ErrCommandFormat    = ErrRequest.NewType("command_format", ErrTraitNotSent)
	ErrCommandForbidden = ErrRequest.NewType("command_forbidden", ErrTraitNotSent)
	ErrKeysUnknown      = ErrRequest.NewType("keys_unknown", ErrTraitNotSent)
	ErrRequestTooLarge  = ErrRequest.NewType("too_large", ErrTraitNotSent)
	ErrScriptHash       = ErrRequest.NewType("script_hash", ErrTraitNotSent)
	ErrSession          = ErrRequest.NewType("session", ErrTraitNotSent)
	ErrSessionClosed    = ErrSession.NewSubtype("closed")
	ErrSessionBusy      = ErrSession.NewSubtype("busy")
	ErrSessionLost      = ErrSession.NewSubtype("lost", ErrTraitConnectivity)
	ErrRequestCancelled = ErrRequest.NewType("request_cancelled")
	ErrRequestWithdrawn = ErrRequestCancelled.NewSubtype("withdrawn", ErrTraitNotSent)
	ErrOverloaded       = ErrRequestWithdrawn.NewSubtype("overloaded")

	ErrGroup        = Errors.NewSubNamespace("group")
	ErrGroupOpts    = ErrGroup.NewType("opts", ErrTraitNotSent)
	ErrGroupEntryID = ErrGroup.NewType("entry_id", ErrTraitNotSent)

	ErrJob     = Errors.NewSubNamespace("job")
	ErrJobOpts = ErrJob.NewType("opts", ErrTraitNotSent)

	ErrPubSub        = Errors.NewSubNamespace("pubsub")
	ErrTopic         = ErrPubSub.NewType("topic", ErrTraitNotSent)
	ErrPubSubClosed  = ErrPubSub.NewType("closed")
	ErrPubSubUnasked = ErrPubSubClosed.NewSubtype("unasked", ErrTraitNotSent) // the call began after the close

	ErrResponse           = Errors.NewSubNamespace("response")
	ErrResponseFormat     = ErrResponse.NewType("format")
	ErrResponseUnexpected = ErrResponse.NewType("unexpected")
	ErrResponseNil        = ErrResponseUnexpected.NewSubtype("nil")
	ErrResponseTooLarge   = ErrResponse.NewType("too_large")
	ErrHeaderlineTooLarge = ErrResponse.NewType("headerline_too_large")
	ErrHeaderlineEmpty    = ErrResponse.NewType("headerline_empty")
	ErrIntegerParsing     = ErrResponse.NewType("integer_parsing")
	ErrNoFinalRN          = ErrResponse.NewType("no_final_rn")
	ErrUnknownHeaderType  = ErrResponse.NewType("unknown_headerline_type")
	ErrTransaction        = ErrResponse.NewType("transaction")
	ErrPing               = ErrResponse.NewType("ping")

	ErrResult      = Errors.NewType("result")
	ErrMoved       = ErrResult.NewSubtype("moved", ErrTraitClusterMove)
	ErrAsk         = ErrResult.NewSubtype("ask", ErrTraitClusterMove)
	ErrClusterDown = ErrResult.NewSubtype("clusterdown", ErrTraitClusterMove, ErrTraitTransient)
	ErrTryAgain    = ErrResult.NewSubtype("try_again", ErrTraitClusterMove, ErrTraitTransient)
	ErrLoading     = ErrResult.NewSubtype("loading", ErrTraitTransient)
	ErrReadOnly    = ErrResult.NewSubtype("readonly", ErrTraitTransient)
	ErrRedirect    = ErrResult.NewSubtype("redirect", ErrTraitTransient)
	ErrMasterDown  = ErrResult.NewSubtype("master_down", ErrTraitTransient)
	ErrBusy        = ErrResult.NewSubtype("busy", ErrTraitTransient)
	ErrMaxClients  = ErrResult.NewSubtype("max_clients", ErrTraitTransient)
	ErrUnblocked   = ErrResult.NewSubtype("unblocked", ErrTraitTransient)
	ErrNoScript    = ErrResult.NewSubtype("no_script")
	ErrExecEmpty   = ErrResult.NewSubtype("exec_empty")
	ErrExecAbort   = ErrResult.NewSubtype("exec_abort")
)

// NilContext is the error of a function that got a nil context.
func NilContext() *errorx.Error { return ErrContextIsNil.New("context is nil") }

// Withdrawn is the error of a request that was taken back unsent because ctx ended. Abandoned is
// the error of a request that may have run, whose caller left because ctx ended.
var (
	Withdrawn = ofContext(ErrRequestWithdrawn, "withdrawn before it was sent")
	Abandoned = ofContext(ErrRequestCancelled, "abandoned, it may have been sent")
)

// ofContext returns a function that makes the error for a context that has ended. The errors for
// the usual causes are made in advance and shared, because many callers often leave at the same
// time.
func ofContext(t *errorx.Type, text string) func(context.Context) *errorx.Error {
	cancelled, expired := t.Wrap(context.Canceled, "%s", text), t.Wrap(context.DeadlineExceeded, "%s", text)
	return func(ctx context.Context) *errorx.Error {
		switch why := ctx.Err(); why {
		case context.Canceled:
			return cancelled
		case context.DeadlineExceeded:
			return expired
		default:
			return t.Wrap(why, "%s", text)
		}
	}
}

// NoSender is the error of a request to a nil redis.Sender.
func NoSender() *errorx.Error {
	return ErrNoSender.New("the sender is nil: redis.Sync, redis.SyncCtx and the like need a client, a connection or a cluster")
}

// Properties are all properties that errors of this library can have. They are listed here so that
// an error made from another one copies all of them. The list is read-only after initialization.
var Properties []errorx.Property

// Properties of errors of several packages.
var (
	EKLine     = NewProperty("line")
	EKMovedTo  = NewPrintableProperty("movedto")
	EKSlot     = NewPrintableProperty("slot")
	EKVal      = NewProperty("val")
	EKArgPos   = NewPrintableProperty("argpos")
	EKRequest  = NewPrintableProperty("request")
	EKRequests = NewProperty("requests")
	EKText     = NewProperty("text")
	EKResponse = NewProperty("response")
	EKCause    = NewProperty("cause")
	EKAddress  = NewPrintableProperty("address")
	EKDelay    = NewPrintableProperty("delay")

	// EKNotRun is the first refusal of a request of a transaction (*errorx.Error). It is set if the
	// reason is temporary and no request of the transaction has run.
	EKNotRun = NewProperty("not_run")
	// EKStays is true in an error whose type has ErrTraitTransient or ErrTraitClusterMove, if the
	// reason is permanent for the sender (bool).
	EKStays = NewProperty("stays")
	// EKEarlier is the error of an earlier attempt that may have run (*errorx.Error): see Attempts.
	EKEarlier = NewProperty("earlier")
	// EKAttempts holds the errors of all attempts to send a request ([]error): see redis.AttemptsOf.
	EKAttempts = NewProperty("attempts")
	// EKOrdered is true in the error of a request that was not sent because the connection of its
	// batch was lost (bool). If it were sent again alone, it could overtake others of the batch.
	EKOrdered = NewProperty("ordered")
	// EKProxyClosed is set if a proxy closed the connection before it answered (bool): see ProxyClosed.
	EKProxyClosed = NewProperty("proxy_closed")
	// EKConnection is redisconn.EKConnection.
	EKConnection = NewProperty("connection")
	// EKCapacity is the send.CapacityWaiter of an ErrQueueFull.
	EKCapacity = NewProperty("capacity")
)

// NewProperty registers a property that is not printed.
func NewProperty(label string) errorx.Property { return listed(errorx.RegisterProperty(label)) }

// NewPrintableProperty registers a property that is printed with the error.
func NewPrintableProperty(label string) errorx.Property {
	return listed(errorx.RegisterPrintableProperty(label))
}

func listed(p errorx.Property) errorx.Property {
	Properties = append(Properties, p)
	return p
}
