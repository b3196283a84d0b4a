package chaos

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ScriptedConn is a client's connection with a ScriptedServer. Its methods may
// be called from any goroutine.
type ScriptedConn struct {
	server *ScriptedServer
	num    int
	tcp    net.Conn
	conn   net.Conn // tcp, or TLS over it
	done   chan struct{}
	once   sync.Once // closes done
	write  sync.Mutex

	proto3 bool // used only by the connection's goroutine
}

// Write sends raw bytes.
func (c *ScriptedConn) Write(b []byte) (int, error) {
	c.write.Lock()
	defer c.write.Unlock()
	return c.conn.Write(b)
}

// Done is closed when the server has closed the connection.
func (c *ScriptedConn) Done() <-chan struct{} { return c.done }

// closed reports whether the server has closed the connection.
func (c *ScriptedConn) closed() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Close closes the connection with a FIN.
func (c *ScriptedConn) Close() {
	c.once.Do(func() {
		close(c.done)
		_ = c.tcp.Close()
	})
}

// Reset closes the connection with a RST.
func (c *ScriptedConn) Reset() {
	if tcp, ok := c.tcp.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	c.Close()
}

// Sleep waits for d. It returns an error if the connection is closed before that.
func (c *ScriptedConn) Sleep(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-c.done:
		return net.ErrClosed
	}
}

// handshake answers the requests that clients themselves send, before and between those of their
// users.
func (c *ScriptedConn) handshake(r ScriptedRequest) (reply string, own bool) {
	opts := &c.server.opts
	if opts.Raw {
		return "", false
	}
	switch r.Cmd {
	case "PING":
		if len(r.Args) > 0 {
			return ScriptedBulk(r.Args[0]), true
		}
		return "+PONG\r\n", true
	case "AUTH":
		if opts.Password != "" && (len(r.Args) == 0 || r.Args[len(r.Args)-1] != opts.Password) {
			return "-WRONGPASS invalid username-password pair or user is disabled.\r\n", true
		}
		return "+OK\r\n", true
	case "HELLO":
		return c.hello(r), true
	case "SELECT", "CLIENT", "READONLY", "QUIT":
		return "+OK\r\n", true
	}
	return "", false
}

func (c *ScriptedConn) hello(r ScriptedRequest) string {
	password := ""
	for i, arg := range r.Args {
		if strings.EqualFold(arg, "AUTH") && i+2 < len(r.Args) {
			password = r.Args[i+2]
		}
	}
	if want := c.server.opts.Password; want != "" && password != want {
		return "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
	}
	if len(r.Args) > 0 {
		c.proto3 = r.Args[0] == "3"
	}
	head, proto := "*14\r\n", "2"
	if c.proto3 {
		head, proto = "%7\r\n", "3"
	}
	return head + ScriptedBulk("server") + ScriptedBulk("redis") +
		ScriptedBulk("version") + ScriptedBulk("7.0.0") +
		ScriptedBulk("proto") + ":" + proto + "\r\n" +
		ScriptedBulk("id") + ":" + strconv.Itoa(c.num) + "\r\n" +
		ScriptedBulk("mode") + ScriptedBulk("standalone") +
		ScriptedBulk("role") + ScriptedBulk("master") +
		ScriptedBulk("modules") + "*0\r\n"
}

// ScriptedBulk encodes a bulk string.
func ScriptedBulk(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }

// ScriptedReplies answers a connection's first request with the first reply, the second with the
// second, and so on, and all further ones with the last. Replies are raw bytes, which need not be
// RESP. For an empty reply nothing is sent.
func ScriptedReplies(replies ...string) ScriptedHandler {
	return func(c *ScriptedConn, r ScriptedRequest) error {
		_, err := io.WriteString(c, replies[min(r.Index, len(replies)-1)])
		return err
	}
}

// ScriptedStalls answers PING and RESET as a server does, and everything else with a value. After
// STALL it stops before the answer, and after CUT in the middle of it.
func ScriptedStalls(c *ScriptedConn, r ScriptedRequest) error {
	reply := ScriptedBulk("value")
	switch r.Cmd {
	case "PING":
		reply = "+PONG\r\n"
		if len(r.Args) > 0 {
			reply = ScriptedBulk(r.Args[0])
		}
	case "RESET":
		reply = "+RESET\r\n"
	case "STALL":
		<-c.Done()
		return nil
	case "CUT":
		if _, err := io.WriteString(c, reply[:6]); err != nil {
			return err
		}
		<-c.Done()
		return nil
	}
	_, err := io.WriteString(c, reply)
	return err
}

// ScriptedSlow answers with reply, n bytes per interval.
func ScriptedSlow(reply string, n int, interval time.Duration) ScriptedHandler {
	return func(c *ScriptedConn, _ ScriptedRequest) error {
		for b := []byte(reply); len(b) > 0; {
			k := min(n, len(b))
			if _, err := c.Write(b[:k]); err != nil {
				return err
			}
			b = b[k:]
			if err := c.Sleep(interval); err != nil {
				return err
			}
		}
		return nil
	}
}

// ScriptedHuge answers with head, then with fill repeated up to size bytes, and then with tail.
// Such replies may be too large for memory.
func ScriptedHuge(head, fill string, size int64, tail string) ScriptedHandler {
	return func(c *ScriptedConn, _ ScriptedRequest) error {
		if _, err := io.WriteString(c, head); err != nil {
			return err
		}
		chunk := bytes.Repeat([]byte(fill), max(1, 64<<10/len(fill)))
		for left := size; left > 0; {
			k := min(left, int64(len(chunk)))
			if _, err := c.Write(chunk[:k]); err != nil {
				return err
			}
			left -= k
		}
		_, err := io.WriteString(c, tail)
		return err
	}
}

// ScriptedThenClose answers with reply and closes the connection. An incomplete reply is thus a
// truncated one.
func ScriptedThenClose(reply string) ScriptedHandler {
	return func(c *ScriptedConn, _ ScriptedRequest) error {
		if _, err := io.WriteString(c, reply); err != nil {
			return err
		}
		return io.EOF
	}
}

// ScriptedEcho answers ECHO with its argument, and anything else with +OK.
func ScriptedEcho(c *ScriptedConn, r ScriptedRequest) error {
	reply := "+OK\r\n"
	if r.Cmd == "ECHO" && len(r.Args) == 1 {
		reply = ScriptedBulk(r.Args[0])
	}
	_, err := io.WriteString(c, reply)
	return err
}

// scriptedMax bounds the lengths in a request.
const scriptedMax = 1 << 29

var errScriptedRequest = errors.New("chaos: not a request")

// scriptedRead reads a request: an array of bulk strings, or an inline command.
func scriptedRead(in *bufio.Reader) ([]string, error) {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		line = strings.TrimRight(line, "\r\n")
		if !strings.HasPrefix(line, "*") {
			if args := strings.Fields(line); len(args) > 0 {
				return args, nil
			}
			continue
		}
		n, err := strconv.Atoi(line[1:])
		if err != nil || n < 1 || n > 1<<20 {
			return nil, errScriptedRequest
		}
		args := make([]string, n)
		for i := range args {
			if args[i], err = scriptedBody(in); err != nil {
				return nil, err
			}
		}
		return args, nil
	}
}

func scriptedBody(in *bufio.Reader) (string, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return "", err
	}
	n, err := strconv.Atoi(strings.TrimPrefix(strings.TrimRight(line, "\r\n"), "$"))
	if err != nil || n < 0 || n > scriptedMax || line[0] != '$' {
		return "", errScriptedRequest
	}
	body := make([]byte, n+2)
	if _, err := io.ReadFull(in, body); err != nil {
		return "", err
	}
	return string(body[:n]), nil
}
