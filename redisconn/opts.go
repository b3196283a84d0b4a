package redisconn

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"reflect"
	"time"

	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// Opts are the options of a Connection. The zero value is fit for production. If a duration
// or a number of requests or bytes is out of its bounds, Connect corrects it and reports a
// LogOptCorrected. [Connect] refuses an invalid ClientName, Protocol or Role.
type Opts struct {
	// DB is the database to select. Default 0.
	DB int
	// Username is the ACL user; empty means the default user.
	Username string
	// Password to authenticate with; empty means no authentication.
	Password string
	// CredentialsProvider, if set, returns the user and password for each new socket;
	// Username and Password are ignored. See [Connection.Reauthenticate] for open
	// sockets. ctx ends within DialTimeout. If the provider fails, or has not returned
	// when ctx is done, the attempt to connect fails with [ErrCredentials]. Every
	// connection calls it, possibly at the same time: if it is slow, cache its result.
	// It must not call [Connection.Reauthenticate].
	CredentialsProvider func(ctx context.Context) (Credentials, error)
	// ClientName is sent to the server with CLIENT SETNAME, and shown in logs.
	// Printable ASCII without spaces; default none.
	ClientName string
	// NoClientInfo leaves out CLIENT SETINFO, with which the handshake names the library
	// and its version. Servers that do not know the command answer with an error, which
	// is ignored; a proxy that closes the connection is dialed again without it. Default false.
	NoClientInfo bool
	// Protocol is the version of RESP: 2 (the default), or 3, which the handshake asks for with
	// HELLO. RESP3 changes the types of some results. If a proxy refuses it with NOPROTO, the
	// connection uses RESP2.
	Protocol int
	// ReadOnly sends READONLY in every handshake, so that a replica of a cluster
	// answers reads. Default false.
	ReadOnly bool
	// Role makes every handshake send ROLE. If the server has another role, the attempt to connect
	// fails with [ErrRole] before any request is sent, and the connection dials again. If the ACL
	// user has no permission for ROLE, the connection accepts any server. With RoleMaster, it also
	// asks Valkey 8 and later to redirect requests once the server is a replica: see
	// [redis.ErrRedirect]. Only the roles below are valid. Default RoleAny: do not ask.
	Role Role

	// IOTimeout is how long the oldest request in flight may wait without progress; after that the
	// connection fails. Progress means that an earlier request was answered, that more bytes of
	// this request were written, or that 64 KiB were received. In ScriptMode the timeout of a
	// blocking command (of BLPOP, or of XREAD's BLOCK) is added; with a timeout of 0 the command
	// may block forever. Default 1 s; negative: no time-out.
	IOTimeout time.Duration
	// Heartbeat is the interval of heartbeats. A heartbeat is a PING with a random argument. Its
	// echo shows that the server answers, and that each request gets its own reply. A server that
	// answers PONG instead, as a proxy may, shows only that it answers each request. Default a
	// third of IOTimeout (of 1 s, if IOTimeout is negative). Negative: no heartbeats, so only the
	// next request notices a dead socket. Sockets of subscribers have their own heartbeats.
	Heartbeat time.Duration
	// DialTimeout bounds each attempt to connect: dialing and the handshake together. Default
	// IOTimeout or, if IOTimeout is negative, 5 s. If a host is gone and dialing it hangs, a cluster or
	// a list of servers may need DialTimeout to find the next master.
	DialTimeout time.Duration
	// ReconnectPause is the longest pause between two attempts to connect. Each pause is
	// random, between zero and a bound. The bound is half of ReconnectPause after the
	// first failure and doubles with each further one, up to ReconnectPause. Default 2 ×
	// DialTimeout, but at most 500 ms, so that a server that comes back is soon in use.
	// Negative: never reconnect.
	ReconnectPause time.Duration
	// ReconnectPauseMax lets pauses grow beyond ReconnectPause if it is longer, and
	// caps them if it is shorter. Default ReconnectPause.
	ReconnectPauseMax time.Duration
	// TCPKeepAlive is the period of keep-alive probes. Default IOTimeout/3;
	// negative: none.
	TCPKeepAlive time.Duration

	// WritePause is kept for compatibility; only its sign matters. Negative: a request never waits
	// for other goroutines' requests. Zero, the default, or positive: batching is automatic.
	WritePause time.Duration
	// MaxRequests bounds the number of requests that are queued or in flight. At the bound, further
	// requests fail with [redis.ErrQueueFull] as not sent, but callers of redis.Sync and
	// redis.SyncCtx wait for room. Default 2^18.
	MaxRequests int
	// MaxBytes bounds the size in bytes of requests that are not written yet, in the same way. A
	// request or batch that is larger than MaxBytes fails at once with [redis.ErrRequestTooLarge]
	// as not sent. The same bound applies separately to the requests that wait for a dedicated
	// connection: blocking commands, reads of large values and, behind a proxy, transactions. If they
	// exceed it, further ones fail, and their callers do not wait for room; further reads use the shared
	// connection. Default 256 MiB.
	MaxBytes int
	// DedicatedConns bounds the number of dedicated connections, which are opened in addition to
	// the shared one when a blocking command or a session needs its own connection, or a read whose
	// reply is likely to be large. Such reads use at most two, and never wait for the others. When
	// all are in use, blocking commands and sessions wait in order until their contexts end, and
	// reads use the shared connection. A connection that was idle for a minute is closed. Each
	// connection has a read buffer of 32 KiB, and counts towards the server's maxclients. In a
	// cluster, each of the ConnsPerHost connections to a node may open this many. Default 256;
	// negative: none, so blocking commands and sessions are refused. Not used in ScriptMode.
	DedicatedConns int
	// TraceSessions records the stack of each goroutine that opens a session, for LogSessionLeaked.
	// That takes some microseconds for each session. Default false.
	TraceSessions bool
	// Integrity ends each written batch with a PING that carries a nonce. The connection delivers
	// the replies of the batch only after the nonce has come back. So if the network loses or
	// inserts a reply, the connection notices before any request gets a wrong reply. Connect fails
	// with [ErrInit] if the nonce does not come back, which happens with some proxies. Integrity
	// has no effect in ScriptMode, nor on dedicated connections and streams. Default false: the
	// heartbeat detects the same faults, but later.
	Integrity bool
	// Limits bound the replies that the connection accepts: see [redis.Limits] for units and
	// defaults.
	Limits redis.Limits

	// AsyncDial makes Connect return at once and dial in the background. Default false.
	AsyncDial bool
	// ScriptMode allows blocking commands and those that change the state of the socket (MULTI,
	// WATCH, SELECT ...), for a connection that only one goroutine uses. Blocking commands,
	// redis.Watch and sessions do not need it: see DedicatedConns. The connection has no heartbeat:
	// while a command blocks forever, only TCPKeepAlive can detect that the server is gone. If a
	// context ends during a blocking command, close the connection: the server continues the
	// command, and later requests would wait for it. Default false.
	ScriptMode bool

	// TLSEnabled connects with TLS. The certificate is verified. Default false.
	TLSEnabled bool
	// TLSConfig refines TLS, if TLSEnabled is set. It is copied for each connect; an empty
	// ServerName means the host of the address. Default: the system's roots, and at least TLS
	// 1.2.
	TLSConfig *tls.Config
	// Dialer, if set, dials addresses; network is "tcp" or "unix". It gets host names, not IPs,
	// also for the seeds of clusters and for lists of servers. Its context ends after DialTimeout.
	// If it returns a connection later, the client closes that connection. While 16 calls are late,
	// further attempts to connect fail. Close of a returned connection must not block, and must end
	// waiting reads and writes; for a *tls.Conn the client closes the socket below it. If Dialer
	// panics, a [LogFuturePanic] is reported, and the attempt to connect fails.
	Dialer func(ctx context.Context, network, addr string) (net.Conn, error)

	// Handle is any value; [Connection.Handle] returns it.
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

// GoString is String, so that %#v does not show the password.
func (o Opts) GoString() string { return o.String() }

const (
	defaultIOTimeout = time.Second
	// noTimeoutDial bounds dialing if IOTimeout is negative.
	noTimeoutDial = 5 * time.Second
	// defaultLongestPause is short enough for most clients to be connected soon after the server
	// has come back, and long enough not to flood the server with attempts to connect.
	defaultLongestPause = 500 * time.Millisecond
	// defaultMaxRequests is enough for all requests that busy callers with short deadlines send to
	// a frozen server within one IOTimeout.
	defaultMaxRequests = 1 << 18
	defaultMaxBytes    = 256 << 20
	// defaultDedicated is enough for 128 queue workers with a session each.
	defaultDedicated = 256
)

// withDefaults returns the options with defaults for all that are not set or out of bounds.
func (o Opts) withDefaults() Opts {
	o.IOTimeout = cmp.Or(o.IOTimeout, defaultIOTimeout)
	if o.DialTimeout <= 0 {
		o.DialTimeout = o.IOTimeout
	}
	if o.DialTimeout <= 0 {
		o.DialTimeout = noTimeoutDial
	}
	o.ReconnectPause = cmp.Or(o.ReconnectPause, min(timing.Times(o.DialTimeout, 2), defaultLongestPause))
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
	o.DedicatedConns = cmp.Or(o.DedicatedConns, defaultDedicated)
	o.Integrity = o.Integrity && !o.ScriptMode
	o.Logger = cmp.Or[Logger](o.Logger, DefaultLogger{})
	return o
}

// dialing returns the options for dialing and the handshake. panicked is called if a user's
// function panics.
func (o Opts) dialing(addr dial.Address, panicked func(v any, stack []byte)) dial.Config {
	return dial.Config{
		Address: addr, Dialer: o.Dialer, KeepAlive: o.TCPKeepAlive, Timeout: o.DialTimeout,
		TLS: o.TLSEnabled, TLSConfig: o.TLSConfig, Limits: o.Limits,
		Provider: o.CredentialsProvider, Credentials: Credentials{Username: o.Username, Password: o.Password},
		Protocol: o.Protocol, DB: o.DB, ReadOnly: o.ReadOnly, Role: o.Role, Integrity: o.Integrity,
		ClientName: o.ClientName, NoClientInfo: o.NoClientInfo, Panicked: panicked,
	}
}

// corrections lists the options in given that withDefaults has changed to those in used.
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

// Credentials are a user and a password. The zero value means no authentication. Printed or logged,
// they do not show the password.
type Credentials = dial.Credentials

// Role is a server's role in replication.
type Role = dial.Role

const (
	// RoleAny accepts both roles.
	RoleAny Role = dial.RoleAny
	// RoleMaster is a server that accepts writes.
	RoleMaster Role = dial.RoleMaster
	// RoleReplica is a server that follows another.
	RoleReplica Role = dial.RoleReplica
)

// ParseRole returns the role in a reply to ROLE.
func ParseRole(res any) (Role, error) { return dial.ParseRole(res) }
