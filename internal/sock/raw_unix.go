//go:build unix

package sock

import (
	"cmp"
	"io"
	"net"
	"syscall"
)

// Raw writes to a socket without waiting for it. Its user must hold the right to write, and for
// Exchange and Check also the right to read.
type Raw struct {
	raw syscall.RawConn

	// once and the fields below hold the state of one write, so that a write does not allocate.
	once func(fd uintptr) bool
	some func(fd uintptr) bool
	buf  []byte
	n    int
	err  error

	// swap and the fields below do the same for Exchange and Check.
	swap    func(fd uintptr) bool
	check   func(fd uintptr)
	head    [1]byte
	sent    bool
	in      []byte
	got     int
	readErr error
	// Written is called when Exchange has written everything. Afterwards the caller may have lost
	// the right to write.
	Written func()
}

// NewRaw returns a Raw for conn, or nil if conn is not a system socket.
func NewRaw(conn net.Conn) *Raw {
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
	w := &Raw{raw: raw}
	w.once, w.some, w.swap, w.check = w.writeOnce, w.writeSome, w.swapOnce, w.checkOnce
	return w
}

// Write writes what the socket takes without waiting.
func (w *Raw) Write(buf []byte) (int, error) { return w.write(buf, w.once) }

// WriteSome waits until the socket takes some of buf, or until the deadline. buf must not be empty.
func (w *Raw) WriteSome(buf []byte) (int, error) { return w.write(buf, w.some) }

func (w *Raw) write(buf []byte, by func(fd uintptr) bool) (int, error) {
	w.buf, w.n, w.err = buf, 0, nil
	err := w.raw.Write(by)
	w.buf = nil
	return w.n, cmp.Or(err, w.err)
}

// writeSome returns false if nothing was written. Then the runtime calls it again when there is
// room.
func (w *Raw) writeSome(fd uintptr) bool {
	return w.writeOnce(fd) && (w.n > 0 || w.err != nil)
}

// writeOnce returns true, so the runtime calls it only once.
func (w *Raw) writeOnce(fd uintptr) bool {
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

// Exchange checks the socket as Check does, writes out, and reads what comes next into in. sent is
// the number of bytes that were written without waiting. If that is not all of out, Exchange
// returns at once. Otherwise it calls Written before it reads.
func (w *Raw) Exchange(out, in []byte) (sent, n int, err error) {
	w.buf, w.n, w.err = out, 0, nil
	w.in, w.got, w.readErr, w.sent = in, 0, nil, false
	err = cmp.Or(w.raw.Read(w.swap), w.readErr)
	w.in = nil
	if w.sent {
		return len(out), w.got, err
	}
	w.buf = nil
	return w.n, 0, cmp.Or(err, w.err)
}

// swapOnce is called first to write, and again when there may be something to read. The runtime
// registers the wait before the write, so data that arrives after the write is noticed.
func (w *Raw) swapOnce(fd uintptr) bool {
	if !w.sent {
		if w.readErr = checkFD(fd, w.head[:]); w.readErr != nil {
			return true
		}
		w.writeOnce(fd)
		if w.err != nil || w.n < len(w.buf) {
			return true
		}
		w.buf, w.sent = nil, true
		w.Written()
	}
	for {
		n, err := syscall.Read(int(fd), w.in)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return false
		case n == 0 && err == nil:
			err = io.EOF
		}
		w.got, w.readErr = max(n, 0), err
		return true
	}
}

// Check returns an error if the server has closed the connection or sent something while nobody was
// reading.
func (w *Raw) Check() error {
	if err := w.raw.Control(w.check); err != nil {
		return err
	}
	return w.readErr
}

func (w *Raw) checkOnce(fd uintptr) { w.readErr = checkFD(fd, w.head[:]) }

// Unread reports whether there is something to read, or the connection has ended. It is safe for
// concurrent use.
func (w *Raw) Unread() (unread bool) {
	_ = w.raw.Control(func(fd uintptr) { unread = checkFD(fd, make([]byte, 1)) != nil })
	return unread
}

// checkFD is Check for a file descriptor, with a buffer of one byte.
func checkFD(fd uintptr, head []byte) error {
	for {
		n, _, err := syscall.Recvfrom(int(fd), head, syscall.MSG_PEEK)
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
		return ErrUnsolicited
	}
}
