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
	// used by the holder of the right to write.
	once func(fd uintptr) bool
	buf  []byte
	n    int
	err  error

	// The same for exchange and connCheck, which are used by the holder of the right to
	// read, too.
	swap    func(fd uintptr) bool
	check   func(fd uintptr)
	head    [1]byte
	sent    bool
	readErr error
	// written is called when exchange has written all. The right to write may
	// be gone after it.
	written func()
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
	w.once, w.swap, w.check = w.writeOnce, w.swapOnce, w.checkOnce
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

// exchange checks the socket as connCheck does, writes out, and waits until there is
// something to read. n is how much was written at once, as by write; it waits only
// if that was all, and has called written before.
func (w *rawWriter) exchange(out []byte) (n int, err error) {
	w.buf, w.n, w.err, w.readErr, w.sent = out, 0, nil, nil, false
	err = w.raw.Read(w.swap)
	if w.sent {
		return len(out), err
	}
	w.buf = nil
	if err == nil {
		err = w.readErr
	}
	if err == nil {
		err = w.err
	}
	return w.n, err
}

// swapOnce is called first to write, and again when there may be something to read.
// Data that comes after the write is noticed, since waiting for it was prepared
// before.
func (w *rawWriter) swapOnce(fd uintptr) bool {
	if w.sent {
		return true
	}
	if w.readErr = w.checkFD(fd); w.readErr != nil {
		return true
	}
	w.writeOnce(fd)
	if w.err != nil || w.n < len(w.buf) {
		return true
	}
	w.buf, w.sent = nil, true
	w.written()
	return false
}

// connCheck returns an error if the server has closed the connection, or has sent
// something, while nobody was reading.
func (w *rawWriter) connCheck() error {
	if err := w.raw.Control(w.check); err != nil {
		return err
	}
	return w.readErr
}

func (w *rawWriter) checkOnce(fd uintptr) { w.readErr = w.checkFD(fd) }

// checkFD is connCheck with the file descriptor.
func (w *rawWriter) checkFD(fd uintptr) error {
	for {
		n, _, err := syscall.Recvfrom(int(fd), w.head[:], syscall.MSG_PEEK)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return nil
		case err != nil:
			return err
		case n == 0:
			return io.EOF
		}
		return errUnsolicited
	}
}
