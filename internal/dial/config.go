package dial

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/joomcode/redispipe/redis"
)

// Config says where to dial, and what to tell the server. Fields that are not explained
// are those of redisconn.Opts.
type Config struct {
	Address   Address
	Dialer    func(ctx context.Context, network, addr string) (net.Conn, error)
	KeepAlive time.Duration
	Timeout   time.Duration // of dialing and the handshake together
	TLS       bool
	TLSConfig *tls.Config
	Limits    redis.Limits

	// Provider, if not nil, is asked for the credentials of each socket; otherwise they
	// are Credentials.
	Provider     func(ctx context.Context) (Credentials, error)
	Credentials  Credentials
	Protocol, DB int
	ReadOnly     bool
	Role         Role
	Integrity    bool
	// Tracking makes the server report changes of the keys that are read on the socket.
	Tracking     bool
	ClientName   string
	NoClientInfo bool

	// Panicked is called when one of the user's functions panics.
	Panicked func(v any, stack []byte)
}
