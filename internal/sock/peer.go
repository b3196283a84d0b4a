package sock

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/values"
	"github.com/joomcode/redispipe/redis"
)

// Peer is what the handshake has learned about the other side: a server, or a proxy in front of
// one. The zero value is a server.
type Peer struct {
	// Mute: the peer answers PING with PONG, no matter what the argument is. So PONG shows that
	// every request got a reply, but not that each got the right one.
	Mute bool
	// Lean: the peer closes the connection on a complete handshake, but accepts one without names
	// and without an argument of PING.
	Lean bool
	// RESP2: the peer refuses RESP3.
	RESP2 bool
	// NoPing: the peer does not know PING. The error shows that every
	// request got a reply, like the PONG of a Mute peer, and no more.
	NoPing bool
}

// Proxy reports whether the other side is a proxy: it answers PING itself, or closes the connection
// on a command that it does not know.
func (p Peer) Proxy() bool { return p.Mute || p.Lean }

// Ping returns the PING whose answer Pinged recognizes.
func (p Peer) Ping(n *Nonce) redis.Request {
	if p.Mute {
		return redis.Req("PING")
	}
	return redis.Req("PING", n[:])
}

// Pinged reports whether res answers the PING with this nonce.
func (p Peer) Pinged(n *Nonce, res any) bool {
	switch {
	case p.NoPing:
		return PingUnknown(res)
	case p.Mute:
		return IsPong(res)
	}
	return n.Is(res)
}

// PingUnknown reports whether res is the answer to PING of a server that does not know the command.
func PingUnknown(res any) bool { return errs.Says(res, "ERR unknown command") }

// IsPong reports whether res answers a PING without an argument.
func IsPong(res any) bool {
	switch pong := res.(type) {
	case string:
		return pong == "PONG"
	case []byte:
		return string(pong) == "PONG"
	}
	return false
}

// Nonce is a random text that a server is asked to echo, so that no reply of another request can be
// mistaken for the echo.
type Nonce [16]byte

// NewNonce returns a nonce.
func NewNonce() (n Nonce) {
	var random [8]byte
	binary.LittleEndian.PutUint64(random[:], rand.Uint64())
	hex.Encode(n[:], random[:])
	return n
}

// Is reports whether res echoes the nonce.
func (n *Nonce) Is(res any) bool {
	switch echo := res.(type) {
	case []byte:
		return string(echo) == string(n[:])
	case string:
		return echo == string(n[:])
	}
	return false
}

// Misconf reports whether the error says that the server can't write to its disk. Such a server
// still answers reads and publishes.
func Misconf(err *errorx.Error) bool { return strings.HasPrefix(err.Message(), "MISCONF") }

// PingRefused reports whether a healthy server may refuse PING with this error.
func PingRefused(res any) bool {
	err := errs.AsErrorx(res)
	if err == nil || !err.IsOfType(errs.ErrResult) {
		return false
	}
	text := err.Message()
	return err.HasTrait(errs.ErrTraitTransient) || Misconf(err) ||
		strings.HasPrefix(text, "NOPERM") || strings.HasPrefix(text, "NOAUTH")
}

// PingAlone reports whether an error that refuses PING can't be the answer to a command that
// subscribes. A server that is loading, or has lost its master, accepts such commands.
func PingAlone(err *errorx.Error) bool {
	return Misconf(err) || err.IsOfType(errs.ErrLoading) || err.IsOfType(errs.ErrMasterDown) ||
		strings.HasPrefix(err.Message(), "NOPERM") && strings.Contains(err.Message(), "run the 'ping' command")
}

// RefusedForGood reports whether err is a server's answer that a retry would get again.
func RefusedForGood(err *errorx.Error) bool {
	return err.IsOfType(errs.ErrResult) && !err.HasTrait(errs.ErrTraitTransient)
}

// RunID returns the run_id in an answer to INFO, or "" if there is none. Each server process draws
// it at random.
func RunID(res any) string {
	text, _ := values.As[string](res)
	for line := range strings.SplitSeq(text, "\r\n") {
		if id, found := strings.CutPrefix(line, "run_id:"); found {
			return id
		}
	}
	return ""
}

// These are errors of package redisconn, which documents them.
var (
	ErrConnection   = errs.Errors.NewSubNamespace("connection", errs.ErrTraitNotSent, errs.ErrTraitConnectivity)
	ErrNotConnected = ErrConnection.NewType("not_connected")
)

// ErrUnsolicited says that the server sent something without a request.
var ErrUnsolicited = errors.New("an unsolicited reply")

// errLeft is the cause if a connection of a cluster ended although the cluster continues.
var errLeft = errors.New("its server has left the cluster, or another one has taken its place")

// Closed returns the error of a connection that ended because the user closed it or ended the
// context that it was opened with.
func Closed(ctx context.Context) *errorx.Error {
	err := errs.ErrContextClosed.New("connection is closed")
	why := lifetime.EndedBy(ctx)
	if why == nil && ctx.Err() != nil && lifetime.WholeGoesOn(ctx) {
		why = errLeft
	}
	if why != nil {
		err = errs.Because(err, why)
	}
	return err
}

// Refused returns the error of a request to a connection that is closed or about to be closed. If
// the connection is part of a cluster that continues, another connection may take the request.
func Refused(ctx context.Context) *errorx.Error {
	if lifetime.WholeGoesOn(ctx) {
		return ErrNotConnected.Wrap(errLeft, "not connected")
	}
	return Closed(ctx)
}
