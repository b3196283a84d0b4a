package redismirror

import (
	"fmt"
	"hash/maphash"
	"strings"
)

// digest is a hash of a reply. It keeps no reference to the reply, which belongs to the caller.
type digest uint64

var seed = maphash.MakeSeed()

// order is how the elements of a reply are compared.
type order uint8

const (
	inOrder order = iota
	anyOrder
	anyOrderOfPairs
	onlySign // compare only the sign of a number, because a time to live changes
	anything // the reply is different each time
)

// orders holds the commands whose replies are not compared element by element in order.
var orders = map[string]order{
	"SMEMBERS": anyOrder, "SINTER": anyOrder, "SUNION": anyOrder, "SDIFF": anyOrder, "HKEYS": anyOrder, "HVALS": anyOrder,
	"KEYS": anyOrder, "HGETALL": anyOrderOfPairs,
	"TTL": onlySign, "PTTL": onlySign, "EXPIRETIME": onlySign, "PEXPIRETIME": onlySign,
	"SRANDMEMBER": anything, "HRANDFIELD": anything, "ZRANDMEMBER": anything, "RANDOMKEY": anything, "DUMP": anything,
	"SCAN": anything, "SSCAN": anything, "HSCAN": anything, "ZSCAN": anything, "MEMORY USAGE": anything,
	"OBJECT ENCODING": anything, "OBJECT FREQ": anything, "OBJECT IDLETIME": anything, "OBJECT REFCOUNT": anything,
	"XINFO STREAM": anything, "XINFO CONSUMERS": anything, "XINFO GROUPS": anything, "XPENDING": anything, "PFCOUNT": anything,
	"PUBLISH": anything, "SPUBLISH": anything,
}

// digestOf returns the digest of the reply to a command.
func digestOf(command string, res any) digest {
	how := orders[command]
	switch n, number := res.(int64); {
	case how == anything:
		return 0
	case how == onlySign && number:
		return digest(max(min(n, 0), -2) + 3)
	}
	list, isList := res.([]any)
	if !isList || how == inOrder || how == onlySign {
		return digestOfValue(res)
	}
	step := 1
	if how == anyOrderOfPairs && len(list)%2 == 0 {
		step = 2
	}
	sum := digest(len(list))
	for i := 0; i < len(list); i += step {
		sum += digestOfValue(list[i : i+step])
	}
	return sum
}

// digestOfValue returns the digest of a result of package redis.
func digestOfValue(res any) digest {
	var h maphash.Hash
	h.SetSeed(seed)
	write(&h, res)
	return digest(h.Sum64())
}

func write(h *maphash.Hash, res any) {
	switch v := res.(type) {
	case []byte:
		writeWord(h, '$', string(v))
	case string:
		writeWord(h, '$', v)
	case error:
		word, _, _ := strings.Cut(v.Error(), " ")
		writeWord(h, '-', word)
	case []any:
		writeWord(h, '*', fmt.Sprint(len(v)))
		for _, element := range v {
			write(h, element)
		}
	default: // null, numbers and truth values; maps are printed in the order of their keys
		writeWord(h, '.', fmt.Sprintf("%T %v", v, v))
	}
}

// writeWord writes a word with its length, so that different lists of words never give the same bytes.
func writeWord(h *maphash.Hash, kind byte, word string) {
	_ = h.WriteByte(kind)
	maphash.WriteComparable(h, len(word))
	_, _ = h.WriteString(word)
}
