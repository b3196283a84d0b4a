package redisconn

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strings"

	"github.com/joomcode/redispipe/redis"
)

// nonce is what a server is asked to echo. It is random, so that no reply of
// another request is taken for it.
type nonce [16]byte

func newNonce() (n nonce) {
	var random [8]byte
	binary.LittleEndian.PutUint64(random[:], rand.Uint64())
	hex.Encode(n[:], random[:])
	return n
}

// is reports whether res echoes the nonce.
func (n *nonce) is(res any) bool {
	echo, ok := res.([]byte)
	return ok && string(echo) == string(n[:])
}

// pingRefused reports whether a server that is sane may answer PING so. MISCONF is
// how it says that it can't write to its disk; it goes on answering reads.
func pingRefused(res any) bool {
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
