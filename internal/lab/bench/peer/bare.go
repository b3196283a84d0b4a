package peer

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strconv"
)

// bare is the lower bound for one caller: a socket, one write, as many reads as necessary, no API
// and no checks.
var bare = Driver{
	Name: "bare socket", How: "write, read, one goroutine", Floor: true, MaxCallers: 1, NoCluster: true,
	Open: func(o Options) (Client, error) {
		conn, err := dialBare(o)
		if err != nil {
			return nil, err
		}
		return &bareClient{conn: conn, r: bufio.NewReaderSize(conn, 32<<10)}, nil
	},
}

func dialBare(o Options) (net.Conn, error) {
	if o.TLS == nil {
		return net.Dial("tcp", o.Addrs[0])
	}
	return tls.Dial("tcp", o.Addrs[0], o.TLS)
}

type bareClient struct {
	conn net.Conn
	r    *bufio.Reader
	out  []byte
}

func (c *bareClient) Set(_ context.Context, key string, value []byte) error {
	c.out = append(c.out[:0], "*3\r\n$3\r\nSET\r\n"...)
	c.out = appendBulk(c.out, key)
	c.out = appendBulk(c.out, value)
	if _, err := c.conn.Write(c.out); err != nil {
		return err
	}
	line, err := c.r.ReadSlice('\n')
	if err == nil && !bytes.Equal(line, []byte("+OK\r\n")) {
		err = fmt.Errorf("%w: %q", ErrWrong, line)
	}
	return err
}

func (c *bareClient) Get(_ context.Context, key string) ([]byte, error) {
	c.out = append(c.out[:0], "*2\r\n$3\r\nGET\r\n"...)
	c.out = appendBulk(c.out, key)
	if _, err := c.conn.Write(c.out); err != nil {
		return nil, err
	}
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(string(bytes.TrimSuffix(line[1:], []byte("\r\n"))))
	if err != nil || line[0] != '$' || n < 0 {
		return nil, fmt.Errorf("%w: %q", ErrWrong, line)
	}
	value := make([]byte, n+2)
	_, err = io.ReadFull(c.r, value)
	return value[:n], err
}

func (c *bareClient) Close() { _ = c.conn.Close() }

func appendBulk[T string | []byte](out []byte, s T) []byte {
	out = append(out, '$')
	out = strconv.AppendInt(out, int64(len(s)), 10)
	out = append(out, "\r\n"...)
	out = append(out, s...)
	return append(out, "\r\n"...)
}
