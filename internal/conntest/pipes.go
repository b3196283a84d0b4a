package conntest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/joomcode/redispipe/redisconn"
)

// Pipes is a server at the other ends of net.Pipes, for tests with a fake clock. Its zero value
// answers OK to everything, except to the handshake.
type Pipes struct {
	// Refuse, if set, is called before each dial. If it returns an error, the dial fails.
	Refuse func() error
	// Answer returns the reply to a request after the handshake, "" for no reply, or "close" to close
	// the pipe.
	Answer func(args []string) string
	// Greet, if set, answers the PING of the handshake.
	Greet func(args []string) string

	mu    sync.Mutex // guards dials and last
	dials []time.Time
	last  net.Conn
}

// Dial is an Opts.Dialer.
func (p *Pipes) Dial(context.Context, string, string) (net.Conn, error) {
	p.mu.Lock()
	p.dials = append(p.dials, time.Now())
	p.mu.Unlock()
	if p.Refuse != nil {
		if err := p.Refuse(); err != nil {
			return nil, err
		}
	}
	client, server := net.Pipe()
	p.mu.Lock()
	p.last = server
	p.mu.Unlock()
	go p.Serve(server)
	return client, nil
}

// Serve answers requests until the connection is closed.
func (p *Pipes) Serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReaderSize(conn, 64<<10)
	greet := p.Greet
	if greet == nil {
		greet = Pong
	}
	for greeted := false; ; {
		args, err := ReadRequest(in)
		if err != nil {
			return
		}
		reply := "+OK\r\n"
		switch {
		case !greeted && args[0] == "PING":
			reply, greeted = greet(args), true
		case p.Answer != nil:
			reply = p.Answer(args)
		case args[0] == "PING":
			reply = Pong(args)
		}
		if reply == "close" {
			return
		}
		if _, err := io.WriteString(conn, reply); err != nil {
			return
		}
	}
}

// LastConn returns the server's end of the last connection.
func (p *Pipes) LastConn() net.Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// Dialed returns the times of the dials so far.
func (p *Pipes) Dialed() []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.dials)
}

// ConnectPipes returns a connection to p, and its events. It must be called in a bubble of
// testing/synctest.
func ConnectPipes(t testing.TB, p *Pipes, opts redisconn.Opts) (*redisconn.Connection, *Recorder) {
	t.Helper()
	log := &Recorder{}
	opts.Logger, opts.Dialer, opts.NoClientInfo = log, p.Dial, true // Pipes answers only PING
	conn, err := redisconn.Connect(context.Background(), "pipe:1", opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		time.Sleep(time.Minute) // the servers notice the end; then all goroutines must have ended
	})
	synctest.Wait()
	return conn, log
}

// Beats returns a server that counts heartbeats, and answers them with the result of answer.
func Beats(answer func(nonce string) string) (*Pipes, *atomic.Int64) {
	var count atomic.Int64
	p := &Pipes{Answer: func(args []string) string {
		if args[0] != "PING" {
			return "+OK\r\n"
		}
		if len(args) == 1 {
			return "+PONG\r\n"
		}
		count.Add(1)
		return answer(args[1])
	}}
	return p, &count
}

// SilentAfter is an Answer of Pipes. It replies only to PINGs without an argument.
func SilentAfter(args []string) string {
	if args[0] == "PING" && len(args) == 1 {
		return "+PONG\r\n"
	}
	return ""
}

// Pong returns the reply to a PING.
func Pong(args []string) string {
	if len(args) > 1 {
		return Bulk(args[1])
	}
	return "+PONG\r\n"
}

// Bulk returns s as a reply.
func Bulk(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }

// ReadRequest reads an array of bulk strings.
func ReadRequest(in *bufio.Reader) ([]string, error) {
	number := func() (int, error) {
		line, err := in.ReadString('\n')
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(strings.TrimRight(line[1:], "\r\n"))
	}
	n, err := number()
	if err != nil {
		return nil, err
	}
	args := make([]string, n)
	for i := range args {
		size, err := number()
		if err != nil {
			return nil, err
		}
		body := make([]byte, size+2)
		if _, err := io.ReadFull(in, body); err != nil {
			return nil, err
		}
		args[i] = string(body[:size])
	}
	return args, nil
}
