//go:build !linux

package pipe

import "net"

// processor does nothing on systems where its gain was not measured.
type processor struct{}

func newProcessor(net.Conn) *processor { return nil }

func (*processor) yield() bool { return false }
