//go:build !linux

package testbed

import (
	"fmt"
	"net"
	"syscall"
)

// childAttr is empty, because only Linux can end a child with its parent.
func childAttr() *syscall.SysProcAttr { return nil }

// reserve returns a port (0: any) that is free now. It can't reserve the port. If another process
// takes it, the start is repeated.
func reserve(num int) (port, error) {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", num))
	if err != nil {
		return port{}, fmt.Errorf("testbed: reserve a port: %w", err)
	}
	defer l.Close()
	return port{num: l.Addr().(*net.TCPAddr).Port, release: func() {}}, nil
}

// frozen returns true: this system can't tell, but the signal was sent.
func frozen(int) bool { return true }
