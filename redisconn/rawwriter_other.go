//go:build !unix

package redisconn

import "net"

// rawWriter does not exist here: all is written by the writer goroutine.
type rawWriter struct{}

func newRawWriter(net.Conn) *rawWriter { return nil }

func (*rawWriter) write([]byte) (int, error) { return 0, nil }

func (*rawWriter) peek() (byte, int, error) { return 0, 0, nil }
