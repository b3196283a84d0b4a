package redisdumb

import (
	"context"
	"crypto/tls"
	"log"
	"runtime/debug"
	"sync"
	"time"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
)

// DefaultTimeout is used by a Conn whose Timeout is 0, and by Do.
var DefaultTimeout = 5 * time.Second

// ConnType decides whether a Conn follows redirects.
type ConnType int

const (
	// TypeSimple returns MOVED and ASK to the caller like any other error.
	TypeSimple ConnType = iota
	// TypeCluster follows MOVED and ASK for a few hops. Each hop is a new
	// connection to the address that the redirect names, closed afterwards.
	TypeCluster
)

// Conn is a blocking redis.Sender with one socket. Set its fields before the
// first call. It is safe for concurrent use: calls run one at a time.
//
// It allows blocking commands and commands that change the state of the socket,
// but returns redis.ErrCommandForbidden for commands that break the pairing of requests
// and replies (SUBSCRIBE, MONITOR, CLIENT REPLY).
type Conn struct {
	// Addr is host:port, tcp://host:port, unix:///path, or a path that starts
	// with "." or "/".
	Addr string
	// Timeout bounds dialing (TLS included) and, separately, the whole exchange
	// of one call: writing and reading all its replies. 0 means DefaultTimeout,
	// a negative value no bound.
	Timeout time.Duration
	// Type is TypeSimple by default.
	Type ConnType
	// TLSEnabled turns TLS on.
	TLSEnabled bool
	// TlsAddr is used instead of Addr if TLSEnabled is set and TlsAddr is not empty. With TypeCluster,
	// the Conn still follows redirects to the address that they name.
	TlsAddr string //nolint:revive // the name must not change, because programs use it
	// TLSConfig is used when TLSEnabled; nil verifies the server against the
	// system's roots. An empty ServerName means the host of the address.
	TLSConfig *tls.Config

	// mu is held for a whole call, and guards sock. Futures are resolved after
	// it is released.
	mu   sync.Mutex
	sock *socket

	// stopMu guards stop, which closes the present socket or ends its dialing.
	stopMu sync.Mutex
	stop   context.CancelFunc
}

var _ redis.Sender = (*Conn)(nil)

// Do connects to addr, sends one command, and closes the connection.
func Do(addr string, cmd string, args ...any) any {
	c := Conn{Addr: addr}
	defer c.Close()
	return c.Do(cmd, args...)
}

// Do sends a command and returns its result, which may be an error.
func (c *Conn) Do(cmd string, args ...any) any {
	return c.many([]redis.Request{{Cmd: cmd, Args: args}})[0]
}

// Send implements redis.Sender: cb is resolved before Send returns.
func (c *Conn) Send(r redis.Request, cb redis.Future, n uint64) {
	c.SendMany([]redis.Request{r}, cb, n)
}

// SendMany implements redis.Sender: it sends the requests as one pipeline, and resolves cb
// for all of them before it returns. With TypeCluster, it sends redirected requests
// again, one after another, at the end.
func (c *Conn) SendMany(reqs []redis.Request, cb redis.Future, start uint64) {
	if err := cancelled(cb); err != nil {
		results := make([]any, len(reqs))
		for i := range reqs {
			results[i] = err.WithProperty(redis.EKRequest, reqs[i])
		}
		resolveAll(cb, results, start)
		return
	}
	resolveAll(cb, c.many(reqs), start)
}

// SendTransaction implements redis.Sender: cb is resolved with EXEC's array or
// an error before SendTransaction returns.
func (c *Conn) SendTransaction(reqs []redis.Request, cb redis.Future, start uint64) {
	if err := cancelled(cb); err != nil {
		resolve(cb, err.WithProperty(redis.EKRequests, reqs), start)
		return
	}
	resolve(cb, c.transaction(reqs), start)
}

// EachShard implements redis.Sender: it calls f once, with c.
func (c *Conn) EachShard(f func(redis.Sender, error) bool) {
	switch {
	case f == nil:
	case c == nil:
		f(nil, errs.NoSender())
	default:
		f(c, nil)
	}
}

// Scanner implements redis.Sender. It scans one server, even with TypeCluster.
func (c *Conn) Scanner(opts redis.ScanOpts) redis.Scanner {
	return &scanner{ScannerBase: redis.ScannerBase{ScanOpts: opts}, c: c}
}

// Close closes the socket at once; a running call fails. A later call dials
// again.
func (c *Conn) Close() {
	if c == nil {
		return
	}
	c.stopMu.Lock()
	stop := c.stop
	c.stop = nil
	c.stopMu.Unlock()
	if stop != nil {
		stop()
	}
}

// scanner walks one server.
type scanner struct {
	redis.ScannerBase
	c *Conn
}

// Next implements redis.Scanner.
func (s *scanner) Next(cb redis.Future) {
	if s.IterLast() {
		resolve(cb, redis.ScanEOF, 0)
		return
	}
	s.DoNext(cb, s.c)
}

// resolveAll resolves the requests of a pipeline.
func resolveAll(cb redis.Future, results []any, start uint64) {
	send.Each(0, len(results), func(i int) { resolve(cb, results[i], start+uint64(i)) })
}

// resolve resolves a request. If the future panics, it logs the panic with the standard logger, because
// a Conn has no logger.
func resolve(cb redis.Future, res any, n uint64) {
	defer func() {
		if v := recover(); v != nil {
			log.Printf("redispipe: a future panicked: %v\n%s", v, debug.Stack())
		}
	}()
	send.Resolve(cb, res, n)
}
