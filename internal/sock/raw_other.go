//go:build !unix

package sock

import "net"

// Raw does not exist on this system: the writer goroutine writes everything.
type Raw struct {
	Written func()
}

func NewRaw(net.Conn) *Raw { return nil }

func (*Raw) Check() error { return nil }

func (*Raw) Unread() bool { return false }

func (*Raw) Write([]byte) (int, error) { return 0, nil }

func (*Raw) WriteSome([]byte) (int, error) { return 0, nil }

func (*Raw) Exchange(_, _ []byte) (sent, n int, err error) { return 0, 0, nil }
