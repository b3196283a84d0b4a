package errs

import "github.com/joomcode/errorx"

// Properties are those that errors of this library can have: all are made here, so that an
// error which is made of another one leaves out none. It is only read after initialization.
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

	// EKCapacity is the wire.CapacityWaiter of an ErrQueueFull.
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
