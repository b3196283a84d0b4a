// Package slot hashes keys to the slots of a Redis Cluster, as the
// specification says (redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec).
package slot

// Count is the number of slots in every Redis Cluster.
const Count = 1 << 14

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

// crc16Pairs has, for each byte, its effect on the sum if one more zero byte follows.
var crc16Pairs = makeCRC16Pairs()

func makeCRC16Pairs() (pairs [256]uint16) {
	for i, crc := range crc16Table {
		pairs[i] = crc<<8 ^ crc16Table[crc>>8]
	}
	return pairs
}

// CRC16 returns the CRC16/XMODEM sum of key. It ignores hash tags: see Of.
func CRC16[T []byte | string](key T) (crc uint16) {
	i := 0
	for ; i+1 < len(key); i += 2 { // each step waits for the previous one, so two bytes per step are faster
		crc = crc16Pairs[byte(crc>>8)^key[i]] ^ crc16Table[byte(crc)^key[i+1]]
	}
	if i < len(key) {
		crc = crc<<8 ^ crc16Table[byte(crc>>8)^key[i]]
	}
	return crc
}

// Of returns the slot of key. If key has a hash tag (a non-empty part between the first '{' and the
// next '}'), only the tag is hashed.
func Of[T []byte | string](key T) uint16 {
	if open := index(key, '{'); open >= 0 {
		if n := index(key[open+1:], '}'); n > 0 {
			key = key[open+1 : open+1+n]
		}
	}
	return CRC16(key) % Count
}

// Rank returns the position of a slot, from 0 on, in an order of all slots that separates neighbouring
// slots, because these often belong to one node. Code that moves a share of the slots begins with the
// lowest ranks.
func Rank(slot int) int { return slot * 10139 % Count }

func index[T []byte | string](key T, c byte) int {
	for i := range len(key) {
		if key[i] == c {
			return i
		}
	}
	return -1
}
