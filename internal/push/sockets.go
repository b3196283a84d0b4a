// Package push has sockets in addition to a connection's shared one, on which a server sends
// messages without a request.
package push

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/dial"
)

// Config holds the options and callbacks of these sockets.
type Config struct {
	// Timeout is how long a server may be silent, or take less than 64 KiB of what is written. After
	// that the socket ends, if TimesOut is set.
	Timeout  time.Duration
	TimesOut bool
	// WithConn adds the connection to an error.
	WithConn func(err *errorx.Error) *errorx.Error
	// Authenticated is called with the server's answer to an AUTH with these credentials.
	Authenticated func(cr dial.Credentials, reply any)
}

// Sockets are the open sockets of a connection. A socket joins them before its handshake ends, so
// that new credentials reach all of them.
type Sockets struct {
	ctx    context.Context
	dialer *dial.Dialer
	config Config

	mu   sync.Mutex // guards open
	open map[*Socket]struct{}
}

// New makes the sockets of a connection, which end with ctx.
func New(ctx context.Context, dialer *dial.Dialer, config Config) *Sockets {
	return &Sockets{ctx: ctx, dialer: dialer, config: config, open: map[*Socket]struct{}{}}
}

// Open dials a socket. ctx and the dialer's time-out bound only the dialing.
func (s *Sockets) Open(ctx context.Context) (*Socket, *errorx.Error) {
	began := time.Now()
	defer s.dialer.Begin()() // until Authenticate can reach the new socket
	greeted, err := s.dialer.OpenPinging(ctx)
	if err != nil {
		return nil, s.config.WithConn(err)
	}
	p := &Socket{of: s, sock: greeted.Socket, peer: greeted.Peer, confirmed: began, wake: make(chan struct{}, 1), done: make(chan struct{})}
	if s.config.TimesOut {
		p.sock.AllowWrites(s.config.Timeout)
	}
	s.mu.Lock()
	s.open[p] = struct{}{}
	s.mu.Unlock()
	go p.writeLoop()
	return p, nil
}

func (s *Sockets) remove(p *Socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, p)
}

// Authenticate sends AUTH on all sockets. It does not wait for the replies, because the owners may
// not be receiving. With RESP2 a server accepts no AUTH from a subscriber.
func (s *Sockets) Authenticate(cr dial.Credentials) {
	if s.dialer.Protocol != 3 {
		return
	}
	s.mu.Lock()
	open := slices.Collect(maps.Keys(s.open))
	s.mu.Unlock()
	for _, p := range open {
		p.beat(time.Now(), &cr)
	}
}
