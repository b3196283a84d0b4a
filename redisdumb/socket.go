package redisdumb

import (
	"bufio"
	"context"
	"crypto/tls"
	"net"
	"strings"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/redisurl"
	"github.com/joomcode/redispipe/redis"
)

// socket is a connection on which no reply is outstanding between two calls.
type socket struct {
	net.Conn
	r *bufio.Reader
	// life ends with Conn.Close, which closes the socket.
	life context.Context
}

// pipelineLocked is exchangeLocked, but dials first if there is no socket.
func (c *Conn) pipelineLocked(encoded [][]byte, results []any) {
	if err := c.dialLocked(); err != nil {
		fill(results, err)
		return
	}
	c.exchangeLocked(encoded, results)
}

// exchangeLocked writes the encoded requests, in chunks, and fills results. If the socket fails, the
// outcome of the requests in the present chunk is unknown, and later requests are not sent.
func (c *Conn) exchangeLocked(encoded [][]byte, results []any) {
	_ = c.sock.SetDeadline(c.deadline())
	for done := 0; done < len(encoded); {
		end, chunk := done, []byte(nil)
		for end < len(encoded) && (end == done || len(chunk)+len(encoded[end]) <= chunkBytes) {
			chunk = append(chunk, encoded[end]...)
			end++
		}
		if err := c.chunkLocked(chunk, results[done:end]); err != nil {
			c.dropLocked()
			fill(results[end:], ErrUnsent.Wrap(err, "connection failed before").
				WithProperty(redis.EKAddress, c.addr()))
			return
		}
		done = end
	}
}

// chunkLocked writes one chunk and reads its replies.
func (c *Conn) chunkLocked(chunk []byte, results []any) error {
	if _, err := c.sock.Write(chunk); err != nil {
		failed := redis.ErrIO.Wrap(err, "write").WithProperty(redis.EKAddress, c.addr())
		fill(results, failed)
		return failed
	}
	for i := range results {
		res, _ := redis.ReadResponse(c.sock.r)
		if broken(res) {
			failed := redis.AsErrorx(res).WithProperty(redis.EKAddress, c.addr())
			results[i] = failed
			if !failed.IsOfType(redis.ErrIO) {
				failed = redis.ErrIO.Wrap(failed, "connection lost").WithProperty(redis.EKAddress, c.addr())
			}
			fill(results[i+1:], failed)
			return failed
		}
		results[i] = c.advised(res)
	}
	if c.sock.r.Buffered() > 0 {
		// There is one reply too many, and the client can't know which one.
		failed := redis.ErrResponseUnexpected.New("more replies than requests").
			WithProperty(redis.EKAddress, c.addr())
		fill(results, failed)
		return failed
	}
	return nil
}

// dialLocked makes sure that there is a live socket.
func (c *Conn) dialLocked() *errorx.Error {
	if c.sock != nil && c.sock.life.Err() == nil {
		return nil
	}
	if redisurl.MayHoldSecret(c.addr()) {
		return ErrDial.New("address is not host:port, tcp://host:port, unix://path or a path")
	}
	network, address, host := parseAddr(c.addr())
	if address == "" {
		return errNoAddress.New("empty address")
	}
	life, stop := context.WithCancel(context.Background())
	c.stopMu.Lock()
	c.stop = stop
	c.stopMu.Unlock()

	ctx, cancel := life, context.CancelFunc(func() {})
	if deadline := c.deadline(); !deadline.IsZero() {
		ctx, cancel = context.WithDeadline(life, deadline)
	}
	defer cancel()
	conn, err := c.connect(ctx, network, address, host)
	if err != nil {
		stop()
		return ErrDial.Wrap(err, "could not connect").WithProperty(redis.EKAddress, c.addr())
	}
	context.AfterFunc(life, func() { _ = conn.Close() })
	c.sock = &socket{Conn: conn, r: bufio.NewReader(conn), life: life}
	return nil
}

// addr returns the address to dial.
func (c *Conn) addr() string {
	if c.TLSEnabled && c.TlsAddr != "" {
		return c.TlsAddr
	}
	return c.Addr
}

// connect dials and, if TLSEnabled is set, performs the TLS handshake.
func (c *Conn) connect(ctx context.Context, network, address, host string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil || !c.TLSEnabled {
		return conn, err
	}
	config := new(tls.Config)
	if c.TLSConfig != nil {
		config = c.TLSConfig.Clone()
	}
	if config.ServerName == "" {
		config.ServerName = host
	}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secured, nil
}

// dropLocked closes the socket; the next call dials.
func (c *Conn) dropLocked() {
	_ = c.sock.Close()
	c.sock = nil
	c.Close()
}

// deadline returns the deadline of an operation that starts now; zero means none.
func (c *Conn) deadline() time.Time {
	timeout := c.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	if timeout < 0 {
		return time.Time{}
	}
	return time.Now().Add(timeout)
}

// parseAddr splits an address as described at Conn.Addr. host is the host to verify in a
// certificate.
func parseAddr(addr string) (network, address, host string) {
	if path, ok := strings.CutPrefix(addr, "unix://"); ok {
		return "unix", path, "localhost"
	}
	if strings.HasPrefix(addr, ".") || strings.HasPrefix(addr, "/") {
		return "unix", addr, "localhost"
	}
	address = strings.TrimPrefix(addr, "tcp://")
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	return "tcp", address, host
}

func fill(results []any, res any) {
	for i := range results {
		results[i] = res
	}
}
