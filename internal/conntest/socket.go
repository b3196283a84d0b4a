package conntest

import "net"

// Socket is a socket that calls a test's functions. The library does not treat it as a system
// socket.
type Socket struct {
	net.Conn
	// OnRead, if set, is called with each byte before the client gets it.
	OnRead func(got byte)
	// OnClose, if set, is called when the socket is closed.
	OnClose func()
}

// Close implements net.Conn.
func (s *Socket) Close() error {
	if s.OnClose != nil {
		s.OnClose()
	}
	return s.Conn.Close()
}

// Read implements net.Conn.
func (s *Socket) Read(p []byte) (int, error) {
	if s.OnRead == nil {
		return s.Conn.Read(p)
	}
	n, err := s.Conn.Read(p[:1])
	if n > 0 {
		s.OnRead(p[0])
	}
	return n, err
}
