package wire

import "github.com/joomcode/errorx"

// Properties are those that errors of this library can have: all are made here, so that an
// error which is made of another one leaves out none. It is only read after initialization.
var Properties []errorx.Property

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
