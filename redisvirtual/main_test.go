package redisvirtual

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisvirtual/internal/proto"
	"github.com/joomcode/redispipe/testbed"
)

var server *testbed.Server

var defaults redisconn.Opts

func TestMain(m *testing.M) {
	testbed.RequireRedis()
	var err error
	if server, err = testbed.Start(testbed.Options{}); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	code := m.Run()
	server.Close()
	os.Exit(code)
}

var connect = conntest.Connect

// client is a client that writes and reads bytes.
type client struct {
	t testing.TB
	net.Conn
	r *bufio.Reader
}

// over returns a client over a sender.
func over(t testing.TB, s redis.Sender) *client { return clientOf(t, Conn(s)) }

func clientOf(t testing.TB, conn net.Conn) *client {
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	return &client{t, conn, bufio.NewReader(conn)}
}

// virtual returns a client with its own shared connection.
func virtual(t testing.TB) *client { return over(t, connect(t, server.Addr(), redisconn.Opts{})) }

// socketOf returns a client on a socket.
func socketOf(t testing.TB) *client {
	conn, err := net.Dial("tcp", server.Addr())
	require.NoError(t, err)
	return clientOf(t, conn)
}

func (c *client) say(text string) {
	c.t.Helper()
	_, err := io.WriteString(c, text)
	require.NoError(c.t, err)
}

// hear requires that text is what the client reads next.
func (c *client) hear(text string) {
	c.t.Helper()
	got := make([]byte, len(text))
	n, err := io.ReadFull(c.r, got)
	require.Equal(c.t, text, string(got[:n]))
	require.NoError(c.t, err)
}

// frame reads a reply of lines and strings.
func (c *client) frame() string {
	c.t.Helper()
	line, err := c.r.ReadString('\n')
	require.NoError(c.t, err)
	n := 0
	switch line[0] {
	case '$':
		_, _ = fmt.Sscan(line[1:], &n)
		if n >= 0 {
			body := make([]byte, n+2)
			_, err = io.ReadFull(c.r, body)
			require.NoError(c.t, err)
			return line + string(body)
		}
	case '*', '~', '>', '%':
		_, _ = fmt.Sscan(line[1:], &n)
		if line[0] == '%' {
			n *= 2
		}
		for range n {
			line += c.frame()
		}
	}
	return line
}

// ends requires that the connection ends without further data.
func (c *client) ends() {
	c.t.Helper()
	_, err := c.r.ReadByte()
	require.ErrorIs(c.t, err, io.EOF)
}

func words(w ...string) string { return string(proto.AppendWords(nil, w)) }
