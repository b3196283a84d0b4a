// Package sock is what holds of every connection to a server, whoever uses it: how its end
// is told, and how one finds out that requests and replies are in step.
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

// Peer is what the handshake has learned about the other side: a server, or a proxy in front of one.
// The zero value is a server.
type Peer struct {
	// Mute: PING is answered with PONG, whatever its argument. So a PING tells that a reply came
	// for each request, but not whether these were the right ones.
	Mute bool
	// Lean: it closes the connection at a whole handshake, and takes one without names and
	// without an argument of PING.
	Lean bool
	// RESP2: it refuses RESP3.
	RESP2 bool
}

// Proxy reports whether the other side is a proxy that speaks for servers: one that answers
// PING by itself, or ends the connection of whoever sends what it does not know.
func (p Peer) Proxy() bool { return p.Mute || p.Lean }

// Ping returns the PING whose answer Pinged recognizes.
func (p Peer) Ping(n *Nonce) redis.Request {
	if p.Mute {
		return redis.Req("PING")
	}
	return redis.Req("PING", n[:])
}

// Pinged reports whether res answers that PING.
func (p Peer) Pinged(n *Nonce, res any) bool {
	if p.Mute {
		return IsPong(res)
	}
	return n.Is(res)
}

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

// Nonce is what a server is asked to echo. It is random, so that no reply of another
// request is taken for it.
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

// Misconf reports whether an error is how a server says that it can't write to its disk. It
// goes on answering reads, and publishing.
func Misconf(err *errorx.Error) bool { return strings.HasPrefix(err.Message(), "MISCONF") }

// PingRefused reports whether a server that is sane may answer PING so.
func PingRefused(res any) bool {
	err := errs.AsErrorx(res)
	if err == nil || !err.IsOfType(errs.ErrResult) {
		return false
	}
	text := err.Message()
	return err.HasTrait(errs.ErrTraitTransient) || Misconf(err) ||
		strings.HasPrefix(text, "NOPERM") || strings.HasPrefix(text, "NOAUTH")
}

// PingAlone reports whether an error by which PING is refused can't be the answer to a command that
// subscribes: a server that loads, or has lost its master, answers those.
func PingAlone(err *errorx.Error) bool {
	return Misconf(err) || err.IsOfType(errs.ErrLoading) || err.IsOfType(errs.ErrMasterDown) ||
		strings.HasPrefix(err.Message(), "NOPERM") && strings.Contains(err.Message(), "run the 'ping' command")
}

// RefusedForGood reports whether the server answered with the error, and will do so again.
func RefusedForGood(err *errorx.Error) bool {
	return err.IsOfType(errs.ErrResult) && !err.HasTrait(errs.ErrTraitTransient)
}

// RunID returns the run_id in an answer to INFO, which each server process draws at random,
// or "" if there is none.
func RunID(res any) string {
	text, _ := values.As[string](res)
	for line := range strings.SplitSeq(text, "\r\n") {
		if id, found := strings.CutPrefix(line, "run_id:"); found {
			return id
		}
	}
	return ""
}

// The errors of package redisconn, where they are described.
var (
	ErrConnection   = errs.Errors.NewSubNamespace("connection", errs.ErrTraitNotSent, errs.ErrTraitConnectivity)
	ErrNotConnected = ErrConnection.NewType("not_connected")
)

// ErrUnsolicited says that something came that nobody asked for.
var ErrUnsolicited = errors.New("an unsolicited reply")

// errLeft says why a connection has ended whose cluster goes on.
var errLeft = errors.New("its server has left the cluster, or another one has taken its place")

// Closed returns the error with which a connection ends because the user has closed it, or ended the
// context that it lives with.
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

// Refused returns the error of what a connection does not take, or sends no more, because it is closed or
// about to be. If it is one of a cluster that goes on, another connection may take it.
func Refused(ctx context.Context) *errorx.Error {
	if lifetime.WholeGoesOn(ctx) {
		return ErrNotConnected.Wrap(errLeft, "not connected")
	}
	return Closed(ctx)
}
