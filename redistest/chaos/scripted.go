package chaos

import (
	"bufio"
	"crypto/tls"
	"net"
	"strings"
	"sync"
	"testing"
)

// ScriptedOpts are the options of a ScriptedServer.
type ScriptedOpts struct {
	// Handler answers the requests that the server does not answer itself. nil answers +OK.
	// ScriptedReplies and similar functions return handlers.
	Handler ScriptedHandler
	// Greeting is sent to every client at once, before the server reads anything.
	Greeting []byte
	// Raw leaves all requests to Handler. By default the server answers PING,
	// AUTH, HELLO, SELECT, CLIENT, READONLY and QUIT as a Redis would, so that
	// handshakes and heartbeats of any client pass.
	Raw bool
	// Password is the password that AUTH and HELLO must contain. If it is empty, any password is
	// accepted.
	Password string
	// TLS makes the server speak TLS.
	TLS *tls.Config
	// Listener replaces the default listener, which is on a free port of 127.0.0.1.
	Listener net.Listener
}

// ScriptedHandler answers one request of a connection. It is called in that
// connection's goroutine, one call at a time. An error closes the connection.
type ScriptedHandler func(c *ScriptedConn, r ScriptedRequest) error

// ScriptedRequest is a request that a ScriptedServer received.
type ScriptedRequest struct {
	// Conn is the number of the connection, from 1. Index is the number of the request among those
	// requests of the connection that the Handler got, from 0.
	Conn, Index int
	// Cmd is the command's name in upper case, Args are its arguments.
	Cmd  string
	Args []string
}

// ScriptedServer is a server whose script decides which bytes it sends, when, and whether or not a
// client has sent a request. It listens on a free port of 127.0.0.1.
type ScriptedServer struct {
	opts     ScriptedOpts
	listener net.Listener
	wg       sync.WaitGroup

	mu       sync.Mutex // guards the rest
	conns    map[*ScriptedConn]struct{}
	accepted int
	closed   bool
	requests []ScriptedRequest
}

// ListenScripted starts a ScriptedServer. Call Close.
func ListenScripted(opts ScriptedOpts) (*ScriptedServer, error) {
	l := opts.Listener
	if l == nil {
		var err error
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return nil, err
		}
	}
	if opts.Handler == nil {
		opts.Handler = ScriptedReplies("+OK\r\n")
	}
	s := &ScriptedServer{opts: opts, listener: l, conns: map[*ScriptedConn]struct{}{}}
	s.wg.Add(1)
	go s.accept()
	return s, nil
}

// NewScripted is ListenScripted for a test: it fails the test on an error, and
// closes the server when the test ends.
func NewScripted(t testing.TB, opts ScriptedOpts) *ScriptedServer {
	t.Helper()
	s, err := ListenScripted(opts)
	if err != nil {
		t.Fatalf("chaos: scripted server: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

// Addr is the address that clients dial.
func (s *ScriptedServer) Addr() string { return s.listener.Addr().String() }

// scriptedLog bounds the number of requests that are recorded.
const scriptedLog = 100_000

// Requests returns the first 100,000 requests of all connections, including those that the server
// answered itself (with Index -1).
func (s *ScriptedServer) Requests() []ScriptedRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]ScriptedRequest(nil), s.requests...)
}

// Accepted returns how many connections were accepted so far.
func (s *ScriptedServer) Accepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

// Broadcast writes bytes to every open connection, without a request.
func (s *ScriptedServer) Broadcast(b []byte) {
	s.mu.Lock()
	conns := make([]*ScriptedConn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	s.mu.Unlock()
	for _, c := range conns {
		_, _ = c.Write(b)
	}
}

// Close ends the listener and all connections, and waits for their goroutines. If a Handler waits
// for anything except its connection, it must stop waiting when ScriptedConn.Done is closed.
func (s *ScriptedServer) Close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		_ = s.listener.Close()
		for c := range s.conns {
			c.Close()
		}
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// accept is the goroutine of the listener. It ends with Close.
func (s *ScriptedServer) accept() {
	defer s.wg.Done()
	for {
		tcp, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.admit(tcp)
	}
}

func (s *ScriptedServer) admit(tcp net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = tcp.Close()
		return
	}
	s.accepted++
	c := &ScriptedConn{server: s, num: s.accepted, tcp: tcp, conn: tcp, done: make(chan struct{})}
	if s.opts.TLS != nil {
		c.conn = tls.Server(tcp, s.opts.TLS)
	}
	s.conns[c] = struct{}{}
	s.wg.Add(1)
	go c.serve()
}

func (s *ScriptedServer) forget(c *ScriptedConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

func (s *ScriptedServer) remember(r ScriptedRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.requests) < scriptedLog {
		s.requests = append(s.requests, r)
	}
}

// serve is the goroutine of a connection. It ends when either side closes the connection.
func (c *ScriptedConn) serve() {
	s := c.server
	defer s.wg.Done()
	defer s.forget(c)
	defer c.Close()
	if len(s.opts.Greeting) > 0 {
		if _, err := c.Write(s.opts.Greeting); err != nil {
			return
		}
	}
	in := bufio.NewReader(c.conn)
	for index := 0; ; {
		args, err := scriptedRead(in)
		if err != nil || c.closed() {
			return // requests that have arrived on a connection that the server has closed are not run
		}
		r := ScriptedRequest{Conn: c.num, Index: -1, Cmd: strings.ToUpper(args[0]), Args: args[1:]}
		reply, own := c.handshake(r)
		if !own {
			r.Index = index
			index++
		}
		s.remember(r)
		if own {
			_, err = c.Write([]byte(reply))
		} else {
			err = s.opts.Handler(c, r)
		}
		if err != nil {
			return
		}
	}
}
