package redisconn

import (
	"context"
	"crypto/tls"
	"fmt"
	"math"
	"net"
	"reflect"
	"time"

	"github.com/joomcode/redispipe/redis"
)

// Opts are the options of a Connection. The zero value is fit for production. An
// option that is out of its bounds is corrected, and reported by a LogOptCorrected.
type Opts struct {
	// DB is the database to select. Default 0.
	DB int
	// Username is the ACL user; empty means the default user.
	Username string
	// Password to authenticate with; empty means no authentication.
	Password string
	// CredentialsProvider, if set, is asked at each connect what to authenticate with,
	// in the place of Username and Password: see Connection.Reauthenticate for sockets
	// that live on. It has to return when ctx is done, which is within DialTimeout. If
	// it fails, so does the attempt to connect, with ErrCredentials. Every connection
	// asks for itself, several at a time: cache what takes long.
	CredentialsProvider func(ctx context.Context) (Credentials, error)
	// ClientName is given to the server with CLIENT SETNAME, and shown in logs. Only
	// printable ASCII without spaces; default none.
	ClientName string
	// NoClientInfo leaves out CLIENT SETINFO, by which the handshake names the library
	// and its version. Servers that do not know it say so, and no harm is done; some
	// proxies close the connection. Default false.
	NoClientInfo bool
	// Protocol is the version of RESP: 2 (the default) or 3, which is asked for
	// with HELLO. It changes the types of some results.
	Protocol int
	// ReadOnly sends READONLY at every handshake, so that a replica of a
	// cluster answers reads.
	ReadOnly bool
	// Role has every handshake ask ROLE, so that nothing is sent to a server that is
	// not what it is taken for: it is refused with ErrRole, and dialed again. A server
	// that does not let the user ask is trusted. Default RoleAny.
	Role Role

	// IOTimeout fails the connection when the oldest request in flight has
	// waited so long and less than 64 KiB came in meanwhile. In ScriptMode a blocking
	// command has so much longer as it asks for itself, by the timeout of BLPOP or
	// XREAD's BLOCK: forever, if that is 0. Default 1 s; negative: never.
	IOTimeout time.Duration
	// DialTimeout bounds dialing and each handshake. Default IOTimeout, which it may
	// not exceed, or 5 s if there is none.
	DialTimeout time.Duration
	// ReconnectPause is the longest pause between two attempts to connect. Each is
	// drawn at random from zero up to a bound, which is half of ReconnectPause after
	// the first failure, and doubles with each further one until it is reached.
	// Default 2 × DialTimeout, but 500 ms at the most, so that a server that is back
	// is in use soon; negative: never reconnect.
	ReconnectPause time.Duration
	// ReconnectPauseMax, if longer, lets pauses grow on beyond ReconnectPause; if
	// shorter, it caps them. Default ReconnectPause.
	ReconnectPauseMax time.Duration
	// TCPKeepAlive is the period of keep-alive probes. Default IOTimeout/3;
	// negative: none.
	TCPKeepAlive time.Duration

	// WritePause 0, the default, lets batches form by themselves. A positive
	// pause is an upper bound for how long a request may wait to be batched,
	// and needs no more than the default; a negative one flushes at once.
	WritePause time.Duration
	// MaxRequests bounds the requests that are queued or in flight. Past it
	// requests end with redis.ErrQueueFull, unsent, and the callers of
	// redis.Sync and redis.SyncCtx wait for room. Default 2^18.
	MaxRequests int
	// MaxBytes bounds the bytes of requests that are not written yet, in the
	// same way. Default 256 MiB.
	MaxBytes int
	// DedicatedConns bounds the connections beside the shared one that are made when
	// needed, for blocking commands and sessions: each has one at a time to itself.
	// Past it they wait, first come first served, until their contexts end. What has
	// been idle for a minute is closed. Each has a read buffer of 32 KiB, and takes one
	// of the server's maxclients. Default 256; negative: none, blocking commands and
	// sessions are refused. Nothing of it concerns ScriptMode.
	DedicatedConns int
	// TraceSessions keeps where each session was opened, for the LogSessionLeaked of
	// one that is never closed. It costs some microseconds for each. Default false.
	TraceSessions bool
	// Integrity ends each written batch with a PING of a nonce, and releases the
	// replies of the batch only when the nonce comes back: a reply that was
	// lost or slipped in on the way is found before anybody gets another's. It
	// has no effect in ScriptMode. Default false: the heartbeat finds the same,
	// but later.
	Integrity bool
	// Limits bound what is accepted from the server.
	Limits redis.Limits

	// AsyncDial makes Connect return at once and dial in the background.
	AsyncDial bool
	// ScriptMode allows blocking commands and those that change the state of
	// the socket (MULTI, WATCH, SELECT ...). Use it for a connection that one
	// goroutine has to itself. There is no heartbeat in this mode: while a command
	// blocks forever, a server that is gone is found by TCPKeepAlive at best. A
	// context that ends leaves the command to the server: Close the connection then,
	// or later requests wait behind it.
	ScriptMode bool

	// TLSEnabled connects with TLS. The certificate is verified.
	TLSEnabled bool
	// TLSConfig refines TLS. An empty ServerName means the host of the address.
	TLSConfig *tls.Config
	// Dialer replaces the dialing of addresses. network is "tcp" or "unix". To close
	// what it returns must end reads and writes that wait, and must not wait itself;
	// of a *tls.Conn the socket is closed.
	Dialer func(ctx context.Context, network, addr string) (net.Conn, error)

	// Handle is whatever the user wants Connection.Handle to return.
	Handle any
	// Logger gets events and statistics. Default DefaultLogger.
	Logger Logger
}

// String prints the options without the password.
func (o Opts) String() string {
	type plain Opts // has no String
	if o.Password != "" {
		o.Password = "(hidden)"
	}
	return fmt.Sprintf("%+v", plain(o))
}

// GoString is String: the verb %#v shows no password either.
func (o Opts) GoString() string { return o.String() }

const (
	defaultIOTimeout = time.Second
	// noTimeoutDial bounds dialing where IOTimeout does not.
	noTimeoutDial = 5 * time.Second
	// defaultLongestPause has a server that is back in use again within 0.4 s for 95 of
	// 100 clients. Two hundred clients dial it 800 times a second meanwhile.
	defaultLongestPause = 500 * time.Millisecond
	// A frozen server holds what its callers sent within one IOTimeout: 2^18
	// requests are what 1,000 goroutines with deadlines of 4 ms send in 1 s.
	defaultMaxRequests = 1 << 18
	defaultMaxBytes    = 256 << 20
	// Enough for 128 queue workers with a session each; 8 MiB of read buffers.
	defaultDedicated = 256
)

// withDefaults returns the options with every default filled in.
func (o Opts) withDefaults() Opts {
	if o.IOTimeout == 0 {
		o.IOTimeout = defaultIOTimeout
	}
	if o.DialTimeout <= 0 {
		o.DialTimeout = o.IOTimeout
	}
	if o.IOTimeout > 0 && o.DialTimeout > o.IOTimeout {
		o.DialTimeout = o.IOTimeout
	}
	if o.DialTimeout <= 0 {
		o.DialTimeout = noTimeoutDial
	}
	if o.ReconnectPause == 0 {
		o.ReconnectPause = min(times(o.DialTimeout, 2), defaultLongestPause)
	}
	if o.ReconnectPauseMax <= 0 {
		o.ReconnectPauseMax = o.ReconnectPause
	}
	if o.TCPKeepAlive == 0 && o.IOTimeout > 0 {
		o.TCPKeepAlive = o.IOTimeout / 3
	}
	if o.MaxRequests <= 0 {
		o.MaxRequests = defaultMaxRequests
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.DedicatedConns == 0 {
		o.DedicatedConns = defaultDedicated
	}
	o.Integrity = o.Integrity && !o.ScriptMode
	if o.Logger == nil {
		o.Logger = DefaultLogger{}
	}
	return o
}

// corrections lists what withDefaults has changed of the options that were given.
func corrections(given, used Opts) (list []LogOptCorrected) {
	for _, c := range []LogOptCorrected{
		{"DialTimeout", given.DialTimeout, used.DialTimeout},
		{"ReconnectPauseMax", given.ReconnectPauseMax, used.ReconnectPauseMax},
		{"MaxRequests", given.MaxRequests, used.MaxRequests},
		{"MaxBytes", given.MaxBytes, used.MaxBytes},
		{"Integrity", given.Integrity, used.Integrity},
	} {
		if c.Given != c.Used && !reflect.ValueOf(c.Given).IsZero() {
			list = append(list, c)
		}
	}
	return list
}

// plus adds, up to the longest duration.
func plus(d, e time.Duration) time.Duration {
	if d > math.MaxInt64-e {
		return math.MaxInt64
	}
	return d + e
}

// times multiplies, up to the longest duration that there is: users say "never"
// with it.
func times(d, n time.Duration) time.Duration {
	if d > math.MaxInt64/n {
		return math.MaxInt64
	}
	return d * n
}
