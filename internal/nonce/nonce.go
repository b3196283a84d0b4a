// Package nonce is what servers are asked to echo, so that a reply is known to be to a certain
// request.
package nonce

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strings"

	"github.com/joomcode/redispipe/redis"
)

// Nonce is what a server is asked to echo. It is random, so that no reply of
// another request is taken for it.
type Nonce [16]byte

// New draws a nonce.
func New() (n Nonce) {
	var random [8]byte
	binary.LittleEndian.PutUint64(random[:], rand.Uint64())
	hex.Encode(n[:], random[:])
	return n
}

// Echoed reports whether res echoes the nonce.
func (n *Nonce) Echoed(res any) bool {
	echo, ok := res.([]byte)
	return ok && string(echo) == string(n[:])
}

// Refused reports whether a server that is sane may answer PING so. MISCONF is
// how it says that it can't write to its disk; it goes on answering reads.
func Refused(res any) bool {
	err := redis.AsErrorx(res)
	if err == nil || !err.IsOfType(redis.ErrResult) {
		return false
	}
	if err.HasTrait(redis.ErrTraitTransient) {
		return true
	}
	text := err.Message()
	for _, code := range []string{"NOPERM", "NOAUTH", "MISCONF"} {
		if strings.HasPrefix(text, code) {
			return true
		}
	}
	return false
}
