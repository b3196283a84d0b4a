package memserver_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// client is a simple client that does not use redispipe, so that the test compares only the
// servers.
type client struct {
	conn net.Conn
	r    *bufio.Reader
}

func dial(t *testing.T, addr string) *client {
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	return &client{conn: conn, r: bufio.NewReader(conn)}
}

func (c *client) do(words ...string) string {
	c.send(words)
	return c.read()
}

func (c *client) send(words []string) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	c.conn.Write(b.Bytes()) // an error shows when the reply is read
}

// each returns all elements of SCAN or a similar command, and whether there was more than one page.
func (c *client) each(words []string) string {
	at := 2
	if words[0] == "SCAN" {
		at = 1
	}
	var all []string
	pages := 0
	for cursor := "0"; pages == 0 || cursor != "0"; pages++ {
		reply := c.do(slices.Concat(words[:at], []string{cursor}, words[at:])...)
		next, elements, ok := strings.Cut(strings.TrimPrefix(reply, "["), " [")
		if !ok {
			return reply
		}
		all = append(all, strings.Fields(strings.Trim(elements, "]"))...)
		cursor = next
	}
	slices.Sort(all)
	return fmt.Sprintf("%d %v, more than a page: %t", len(all), all[:min(len(all), 12)], pages > 1)
}

// read returns a reply as text. Types with the same meaning have the same text; an error has only its
// code.
func (c *client) read() string {
	line, err := c.r.ReadString('\n')
	if err != nil {
		return "no reply"
	}
	line = strings.TrimSuffix(line, "\r\n")
	n, _ := strconv.Atoi(line[1:])
	switch line[0] {
	case '-':
		code, _, _ := strings.Cut(line, " ")
		return code
	case '_':
		return "nil"
	case '$', '=':
		if n < 0 {
			return "nil"
		}
		b := make([]byte, n+2)
		if _, err := io.ReadFull(c.r, b); err != nil {
			return "no reply"
		}
		if line[0] == '=' {
			b = b[4:] // without the format of a verbatim string
		}
		return string(b[:len(b)-2])
	case '*', '~', '>', '%':
		if n < 0 {
			return "nil"
		}
		if line[0] == '%' {
			n *= 2
		}
		parts := make([]string, n)
		for i := range parts {
			parts[i] = c.read()
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return line[1:]
}
