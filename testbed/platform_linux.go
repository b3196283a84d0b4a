package testbed

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"syscall"
)

// childAttr makes the kernel kill a child when the thread that started it ends. spawn keeps that
// thread.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// reserve keeps a port (0: any) with a socket that is bound and never listens. A server can still
// bind the port and listen, because both sockets set SO_REUSEADDR. The kernel gives the port to
// nobody else, neither to a listener nor as the local port of a connection. While the server is
// down, the port refuses connections.
func reserve(num int) (port, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return port{}, fmt.Errorf("testbed: reserve a port: %w", err)
	}
	release := sync.OnceFunc(func() { _ = syscall.Close(fd) })
	fail := func(err error) (port, error) {
		release()
		return port{}, fmt.Errorf("testbed: reserve a port: %w", err)
	}
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return fail(err)
	}
	local := &syscall.SockaddrInet4{Port: num, Addr: [4]byte{127, 0, 0, 1}}
	if err := syscall.Bind(fd, local); err != nil {
		return fail(err)
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		return fail(err)
	}
	inet, ok := bound.(*syscall.SockaddrInet4)
	if !ok {
		return fail(syscall.EAFNOSUPPORT)
	}
	return port{num: inet.Port, release: release}, nil
}

// frozen reports whether SIGSTOP has taken effect.
func frozen(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	// The name is in parentheses and may contain anything. The state follows it.
	_, state, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')'):], []byte(" "))
	return bytes.HasPrefix(state, []byte("T"))
}
