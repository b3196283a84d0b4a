package redisclusterutil

import (
	"math/rand/v2"

	"github.com/joomcode/redispipe/redis"
)

// NumSlots is the number of slots in every Redis Cluster.
const NumSlots = 1 << 14

// crc16Poly is the polynomial of CRC16/XMODEM, the one that Redis hashes with.
const crc16Poly = 0x1021

var crc16Table = makeCRC16Table()

func makeCRC16Table() (table [256]uint16) {
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= crc16Poly
			}
		}
		table[i] = crc
	}
	return table
}

// CRC16 returns the CRC16/XMODEM sum of key. It ignores hash tags: see Slot.
func CRC16(key []byte) uint16 {
	return crc16(key)
}

func crc16[T []byte | string](key T) (crc uint16) {
	for i := range len(key) {
		crc = crc<<8 ^ crc16Table[byte(crc>>8)^key[i]]
	}
	return crc
}

// Slot returns the slot of key. Where key has a hash tag (a non-empty part
// between the first '{' and the next '}'), the tag alone is hashed.
func Slot(key string) uint16 {
	return slot(key)
}

func slot[T []byte | string](key T) uint16 {
	for open := range len(key) {
		if key[open] != '{' {
			continue
		}
		if n := indexClosing(key[open+1:]); n > 0 {
			key = key[open+1 : open+1+n]
		}
		break
	}
	return crc16(key) % NumSlots
}

func indexClosing[T []byte | string](key T) int {
	for i := range len(key) {
		if key[i] == '}' {
			return i
		}
	}
	return -1
}

// ReqSlot returns the slot of the request's first key, and false for a request
// without one. RANDOMKEY may be sent anywhere: it gets a random slot.
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

// BatchKey returns the first key of the batch if all its requests have their
// first keys in one slot. Requests without a key are passed over; false means
// keys of several slots, or none at all.
func BatchKey(reqs []redis.Request) (string, bool) {
	first, found := "", false
	var slot uint16
	for _, req := range reqs {
		key, ok := req.Key()
		switch {
		case !ok:
			continue
		case !found:
			first, slot, found = key, Slot(key), true
		case Slot(key) != slot:
			return "", false
		}
	}
	return first, found
}

// BatchSlot returns the slot that all requests of the batch share, as BatchKey
// finds it.
func BatchSlot(reqs []redis.Request) (uint16, bool) {
	key, ok := BatchKey(reqs)
	if !ok {
		return 0, false
	}
	return Slot(key), true
}
