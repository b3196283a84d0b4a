package resp

import (
	"bytes"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/wire"
)

// Errors of what is read, with the namespaces, traits and properties that they need.
// Package redis exports, and explains, them.
var (
	Errors = errorx.NewNamespace("redispipe").ApplyModifiers(errorx.TypeModifierOmitStackTrace)

	ErrTraitConnectivity = errorx.RegisterTrait("network")
	ErrTraitClusterMove  = errorx.RegisterTrait("cluster_move")
	ErrTraitTransient    = errorx.RegisterTrait("transient")

	ErrIO = Errors.NewType("io", ErrTraitConnectivity)

	ErrResponse           = Errors.NewSubNamespace("response")
	ErrResponseFormat     = ErrResponse.NewType("format")
	ErrResponseTooLarge   = ErrResponse.NewType("too_large")
	ErrHeaderlineTooLarge = ErrResponse.NewType("headerline_too_large")
	ErrHeaderlineEmpty    = ErrResponse.NewType("headerline_empty")
	ErrIntegerParsing     = ErrResponse.NewType("integer_parsing")
	ErrNoFinalRN          = ErrResponse.NewType("no_final_rn")
	ErrUnknownHeaderType  = ErrResponse.NewType("unknown_headerline_type")

	ErrResult      = Errors.NewType("result")
	ErrMoved       = ErrResult.NewSubtype("moved", ErrTraitClusterMove)
	ErrAsk         = ErrResult.NewSubtype("ask", ErrTraitClusterMove)
	ErrClusterDown = ErrResult.NewSubtype("clusterdown", ErrTraitClusterMove, ErrTraitTransient)
	ErrTryAgain    = ErrResult.NewSubtype("try_again", ErrTraitClusterMove, ErrTraitTransient)
	ErrLoading     = ErrResult.NewSubtype("loading", ErrTraitTransient)
	ErrReadOnly    = ErrResult.NewSubtype("readonly", ErrTraitTransient)
	ErrMasterDown  = ErrResult.NewSubtype("master_down", ErrTraitTransient)
	ErrBusy        = ErrResult.NewSubtype("busy", ErrTraitTransient)
	ErrMaxClients  = ErrResult.NewSubtype("max_clients", ErrTraitTransient)
	ErrNoScript    = ErrResult.NewSubtype("no_script")
	ErrExecAbort   = ErrResult.NewSubtype("exec_abort")

	EKLine    = wire.NewProperty("line")
	EKMovedTo = wire.NewPrintableProperty("movedto")
	EKSlot    = wire.NewPrintableProperty("slot")
	EKText    = wire.NewProperty("text")
)

// errLine is about a line, of which it keeps as much as it takes to recognize it.
func errLine(t *errorx.Type, line []byte) *errorx.Error {
	const kept = 64
	return t.New("bad header line of %d bytes", len(line)).
		WithProperty(EKLine, bytes.Clone(line[:min(len(line), kept)]))
}
