package redisclusterutil

import (
	"math/rand/v2"

	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/redis"
)

// NumSlots is the number of slots in every Redis Cluster.
const NumSlots = slot.Count

// CRC16 returns the CRC16/XMODEM sum of key. It ignores hash tags: see Slot.
func CRC16(key []byte) uint16 { return slot.CRC16(key) }

// Slot returns the slot of key. If key has a hash tag (a non-empty part
// between the first '{' and the next '}'), only the tag is hashed.
func Slot(key string) uint16 { return slot.Of(key) }

// ReqSlot returns the slot of the request's first key, or false for a request
// without keys. RANDOMKEY may go to any node: it gets a random slot.
func ReqSlot(req redis.Request) (uint16, bool) {
	key, ok := req.Key()
	if !ok && key == "RANDOMKEY" {
		return uint16(rand.IntN(NumSlots)), true
	}
	if !ok {
		return 0, false
	}
	return Slot(key), true
}

// BatchKey returns the first key of the batch if the first keys of all its requests are in one slot. It
// ignores requests without a key. It returns false if the keys are in several slots, or if there are no
// keys at all.
func BatchKey(reqs []redis.Request) (string, bool) {
	first, found := "", false
	var common uint16
	for _, req := range reqs {
		key, ok := req.Key()
		switch {
		case !ok:
			continue
		case !found:
			first, common, found = key, Slot(key), true
		case Slot(key) != common:
			return "", false
		}
	}
	return first, found
}

// BatchSlot returns the slot of the key that BatchKey returns.
func BatchSlot(reqs []redis.Request) (uint16, bool) {
	key, ok := BatchKey(reqs)
	if !ok {
		return 0, false
	}
	return Slot(key), true
}
