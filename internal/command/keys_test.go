package command

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestKeys(t *testing.T) {
	for _, c := range []struct {
		cmd  string
		args []any
		want []int
	}{
		{"GET", args("k"), []int{0}},
		{"GET", nil, nil},
		{"get k", nil, []int{InCmd}},
		{"PING", args("x"), nil},
		{"MSET", args("a", 1, "b", 2), []int{0, 2}},
		{"mset a", args(1, "b", 2), []int{InCmd, 1}},
		{"BLPOP", args("a", "b", 0), []int{0, 1}},
		{"BLPOP", args(0), nil},
		{"BITOP", args("AND", "d", "a", "b"), []int{1, 2, 3}},
		{"LCS", args("a", "b", "LEN"), []int{0, 1}},
		{"PFMERGE", args("d"), []int{0}},
		{"EVAL", args("s", 0), nil},
		{"eval", args("s", "2", "a", "b", "x"), []int{2, 3}},
		{"FCALL_RO", args("f", []byte("1"), "a"), []int{2}},
		{"eval s", args(1, "a"), []int{1}},
		{"ZUNIONSTORE", args("d", int64(2), "a", "b", "WEIGHTS", 1, 2), []int{0, 2, 3}},
		{"SINTERCARD", args(2.0, "a", "b"), []int{1, 2}},
		{"SINTERCARD", args(float32(1), "a"), []int{1}},
		{"ZMPOP", args(true, "a", "MIN"), []int{1}},
		{"BLMPOP", args(0, uint8(1), "a", "LEFT"), []int{2}},
		{"MSETEX", args(2, "a", 1, "b", 2, "NX"), []int{1, 3}},
		{"XREAD", args("COUNT", 1, "streams", "a", "b", "0", "0"), []int{3, 4}},
		{"XREAD STREAMS", args("a", "0"), []int{0}},
		{"XREAD", args("COUNT", 1), nil},
		{"XREAD", args("STREAMS"), nil},
		{"XREADGROUP", args("GROUP", "STREAMS", "c", []byte("Streams"), "a", ">"), []int{4}},
		{"XREADGROUP", args("COUNT", 1, "GROUP", "STREAMS", "c", "STREAMS", "a", ">"), []int{6}},
		{"XREAD", args("BLOCK", "STREAMS", "STREAMS", "a", "0"), []int{3}},
		{"SORT", args("k", "BY", "STORE", "GET", "STORE", "LIMIT", 0, 1, "store", "d"), []int{0, 9}},
		{"SORT", args("k", "STORE"), []int{0}},
		{"SORT_RO", args("k", "BY", "w_*"), []int{0}},
		{"GEORADIUS", args("k", 1, 2, 3, "m", "STORE", "d"), []int{0, 6}},
		{"GEORADIUSBYMEMBER", args("k", "STORE", 3, "m", "storedist", "d"), []int{0, 5}},
		{"MIGRATE", args("h", 1, "k", 0, 10), []int{2}},
		{"MIGRATE", args("h", 1, "", 0, 10, "COPY", "AUTH", "KEYS", "KEYS", "a", "b"), []int{9, 10}},
		{"MIGRATE", args("h", 1, nil, 0, 10, "AUTH2", "KEYS", "KEYS", "keys", "a"), []int{9}},
		{"OBJECT", args("encoding", "k"), []int{1}},
		{"Object Encoding", args("k"), []int{0}},
		{"XINFO", args("STREAM", "k"), []int{1}},
		{"XINFO STREAM", args("k"), []int{0}},
		{"XINFO", args("HELP"), nil},
		{"XGROUP", args([]byte("create"), "k", "g", "$"), []int{1}},
		{"MEMORY USAGE", args("k"), []int{0}},
		{"memory", args("usage", "k"), []int{1}},
		{"MEMORY", args("NOSUCH", "k"), nil},
		{"SPUBLISH", args("c", "m"), []int{0}},
		{"RANDOMKEY", nil, nil},
		{"JSON.GET", args("k", "$"), []int{0}},
		{"JSON.GET", nil, nil},
		{"JSON.DEBUG MEMORY", args("k"), []int{0}},
		{"JSON.DEBUG", args("MEMORY", "k"), []int{1}},
		{"JSON.MGET", args("a", "b", "$"), []int{0, 1}},
		{"JSON.MSET", args("a", "$", 1, "b", "$", 2), []int{0, 3}},
		{"TS.MADD", args("a", "*", 1, "b", "*", 2), []int{0, 3}},
		{"TS.MGET", args("FILTER", "l=x"), nil},
		{"CMS.MERGE", args("d", 2, "a", "b"), []int{0, 2, 3}},
		{"HOTKEYS", args("GET"), nil},
		{"HOTKEYS GET", nil, nil},
		{"CLUSTERSCAN", args("0-{06S}-0"), []int{0}},
		{"", args("k"), nil},
	} {
		call := Of(c.cmd, c.args)
		assert.Equal(t, c.want, slices.Collect(call.Keys), "%s %q", c.cmd, c.args)
		assert.Equal(t, len(c.want), call.CountKeys(), "%s %q", c.cmd, c.args)
		first := NoKey
		if c.want != nil {
			first = c.want[0]
		}
		assert.Equal(t, first, call.FirstKey(), "%s %q", c.cmd, c.args)
	}
}

func TestKeysStopWhenAskedTo(t *testing.T) {
	mget := Of("MGET", args("a", "b", "c"))
	for i := range mget.Keys {
		assert.Equal(t, 0, i)
		break
	}
}

func FuzzKeys(f *testing.F) {
	f.Add("zunionstore", "d", []byte("2"), 3, uint8(0))
	f.Add("XREAD", "streams", []byte("block"), -1, uint8(1))
	f.Add("migrate h", "KEYS", []byte(""), math.MaxInt, uint8(7))
	f.Fuzz(func(t *testing.T, cmd, word string, bytes []byte, number int, mask uint8) {
		var list []any
		for bit, arg := range []any{word, bytes, number, nil, float64(number), word, uint64(number), bytes} {
			if mask>>bit&1 == 0 {
				list = append(list, arg)
			}
		}
		call := Of(cmd, list)
		call.Verdict(mask&1 == 0)
		keys := slices.Collect(call.Keys)
		if len(keys) != call.CountKeys() {
			t.Fatalf("%d keys, counted %d", len(keys), call.CountKeys())
		}
		first := call.FirstKey()
		if len(keys) == 0 != (first == NoKey) || len(keys) > 0 && keys[0] != first {
			t.Fatalf("first key %d of %v", first, keys)
		}
		for _, k := range keys {
			if k != InCmd && (k < 0 || k >= len(list)) {
				t.Fatalf("key %d of %d arguments", k, len(list))
			}
		}
	})
}
