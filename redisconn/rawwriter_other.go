//go:build !unix

package redisconn

import "net"

// rawWriter does not exist here: all is written by the writer goroutine.
type rawWriter struct {
	written func()
}

func newRawWriter(net.Conn) *rawWriter { return nil }

func (*rawWriter) connCheck() error { return nil }

func (*rawWriter) write([]byte) (int, error) { return 0, nil }

func (*rawWriter) exchange([]byte) (int, error) { return 0, nil }
