//go:build unix

package redisconn

import (
	"io"
	"net"
	"syscall"
)

// rawWriter writes to a socket without ever waiting for it.
type rawWriter struct {
	raw syscall.RawConn

	// What one write needs is kept here, so that it allocates nothing. It is
	// used by whoever has the right to write.
	once func(fd uintptr) bool
	buf  []byte
	n    int
	err  error

	// The same for peek, which is used by whoever has the right to read.
	look    func(fd uintptr) bool
	head    [1]byte
	seen    int
	lookErr error
}

// newRawWriter returns nil for connections that have no socket of their own.
func newRawWriter(conn net.Conn) *rawWriter {
	var raw syscall.RawConn
	var err error
	switch conn := conn.(type) {
	case *net.TCPConn:
		raw, err = conn.SyscallConn()
	case *net.UnixConn:
		raw, err = conn.SyscallConn()
	default:
		return nil
	}
	if err != nil {
		return nil
	}
	w := &rawWriter{raw: raw}
	w.once, w.look = w.writeOnce, w.peekOnce
	return w
}

// write writes what the socket takes at once.
func (w *rawWriter) write(buf []byte) (int, error) {
	w.buf, w.n, w.err = buf, 0, nil
	err := w.raw.Write(w.once)
	w.buf = nil
	if err == nil {
		err = w.err
	}
	return w.n, err
}

// writeOnce returns true, so that it is not called again when there is room.
func (w *rawWriter) writeOnce(fd uintptr) bool {
	for {
		n, err := syscall.Write(int(fd), w.buf)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return true
		case err != nil:
			w.err = err
			return true
		case n == 0 && len(w.buf) > 0:
			w.err = io.ErrUnexpectedEOF
			return true
		}
		w.n = n
		return true
	}
}

// peek returns the first byte that can be read at once, if n is 1; it is 0 if
// there is none. The end of the stream is an error.
func (w *rawWriter) peek() (head byte, n int, err error) {
	w.seen, w.lookErr = 0, nil
	if err := w.raw.Read(w.look); err != nil {
		return 0, 0, err
	}
	return w.head[0], w.seen, w.lookErr
}

func (w *rawWriter) peekOnce(fd uintptr) bool {
	for {
		n, _, err := syscall.Recvfrom(int(fd), w.head[:], syscall.MSG_PEEK)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return true
		case err != nil:
			w.lookErr = err
		case n == 0:
			w.lookErr = io.EOF
		}
		w.seen = max(n, 0)
		return true
	}
}
