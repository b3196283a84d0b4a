package command

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
)

func args(list ...any) []any { return list }

func TestOfFindsSubcommands(t *testing.T) {
	for _, c := range []struct {
		cmd  string
		args []any
		want string
	}{
		{"get", args("k"), "GET"},
		{"get k", nil, "GET"},
		{"client kill", args("x"), "CLIENT KILL"},
		{"Client", args("Kill", "x"), "CLIENT KILL"},
		{"CLIENT", args([]byte("kill")), "CLIENT KILL"},
		{"CLIENT", nil, "CLIENT"},
		{"CLIENT", args("NOSUCH"), "CLIENT"},
		{"CLIENT", args(7), "CLIENT"},
		{"CLIENT", args("KILL plus much more text than any subcommand has"), "CLIENT"},
		{"CLIENT NOSUCH", nil, "CLIENT"},
		{"NOSUCH", args("x"), ""},
		{"client  kill", nil, ""},
	} {
		got := Of(c.cmd, c.args)
		if c.want == "" {
			assert.Nil(t, got.Info, c.cmd)
		} else if assert.NotNil(t, got.Info, c.cmd) {
			assert.Equal(t, c.want, got.Name)
		}
	}
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		cmd            string
		args           []any
		shared, single Verdict
	}{
		{"GET", args("k"), Allowed, Allowed},
		{"JSON.GET", args("k"), Allowed, Allowed},
		{"CLUSTER SLOTS", nil, Allowed, Allowed},
		{"client", args("setname", "x"), Allowed, Allowed},
		{"CLIENT KILL", args("x"), Allowed, Allowed},
		{"BLPOP", args("k", 0), WouldBlock, Allowed},
		{"blpop k", args(0), WouldBlock, Allowed},
		{"wait", args(1, 0), WouldBlock, Allowed},
		{"WAITAOF", args(1, 1, 0), WouldBlock, Allowed},
		{"SAVE", nil, WouldBlock, Allowed},
		{"XREAD", args("COUNT", 1, "STREAMS", "block", "0"), Allowed, Allowed},
		{"XREAD", args("block", 0, "STREAMS", "k", "$"), WouldBlock, Allowed},
		{"XREAD", args("COUNT", 1, []byte("Block"), 0, "STREAMS", "k", "$"), WouldBlock, Allowed},
		{"XREAD BLOCK", args(0, "STREAMS", "k", "$"), WouldBlock, Allowed},
		{"XREADGROUP", args("GROUP", "BLOCK", "BLOCK", "STREAMS", "k", ">"), Allowed, Allowed},
		{"XREADGROUP", args("GROUP", "STREAMS", "STREAMS", "BLOCK", 5, "STREAMS", "k", ">"), WouldBlock, Allowed},
		{"XREADGROUP", args("BLOCK", 5, "GROUP", "g", "c", "STREAMS", "k", ">"), WouldBlock, Allowed},
		{"XREAD", nil, Allowed, Allowed},
		{"WATCH", args("k"), ChangesSession, Allowed},
		{"select 1", nil, ChangesSession, Allowed},
		{"multi", nil, ChangesSession, Allowed},
		{"CLIENT", args("no-evict", "on"), ChangesSession, Allowed},
		{"ssubscribe", args("c"), ChangesProtocol, ChangesProtocol},
		{"CLIENT REPLY", args("OFF"), ChangesProtocol, ChangesProtocol},
		{"CLIENT", args([]byte("reply"), "OFF"), ChangesProtocol, ChangesProtocol},
		{"Client Tracking", args("ON"), ChangesProtocol, ChangesProtocol},
		{"HELLO", args(3), ChangesProtocol, ChangesProtocol},
		{"QUIT", nil, ChangesProtocol, ChangesProtocol},
		{"SET", args("k", "v", "GET", "EX", 10, "NX"), Allowed, Allowed},
		{"SET", args("k", "v", "GET", "IFDEQ", "0123456789abcdef"), Allowed, Allowed},
		{"SET", args("GET", "v", "EX", 10, "IFDEQ", "no digest"), Allowed, Allowed},
		{"SET", args("k", "v", "GET", "IFDEQ", json.Number("0123456789012345")), Allowed, Allowed},
		{"SET", args("k", "v", "GET", "IFDEQ", json.Number("1")), ChangesProtocol, ChangesProtocol},
		{"SET", args("k", "v", "GET", "EX", "IFDEQ"), ChangesProtocol, ChangesProtocol},
		{"SET", args("k", "v", "IFDEQ", "no digest", "GET"), ChangesProtocol, ChangesProtocol},
		{"set k", args("v", "get", "ifdne", []byte("no digest")), ChangesProtocol, ChangesProtocol},
		{"", nil, Malformed, Malformed},
		{" ", nil, Malformed, Malformed},
		{" GET", nil, Malformed, Malformed},
		{"GET ", nil, Malformed, Malformed},
		{"CLIENT  REPLY", nil, Malformed, Malformed},
		{"CLIENT REPLY OFF", nil, Malformed, Malformed},
		{"CLIENT\tREPLY", nil, Malformed, Malformed},
		{"GET\r\n", nil, Malformed, Malformed},
		{"G\x00", nil, Malformed, Malformed},
	} {
		call := Of(c.cmd, c.args)
		assert.Equal(t, c.shared, call.Verdict(false), "%q %q, shared", c.cmd, c.args)
		assert.Equal(t, c.single, call.Verdict(true), "%q %q, single", c.cmd, c.args)
	}
}

func TestDecisionsAllocateNothing(t *testing.T) {
	for _, c := range []struct {
		cmd  string
		args []any
	}{
		{"GET", args("k")},
		{"cluster slots", nil},
		{"CLIENT", args([]byte("kill"), "x")},
		{"ZUNIONSTORE", args("d", []byte("12"), "a", "b")},
		{"XREAD", args([]byte("count"), 100000, []byte("STREAMS"), "k", "0")},
		{"GEORADIUS", args("k", 1, 2, 3, "m", []byte("store"), "d")},
		{"JSON.GET", args("k")},
		{"nosuch thing", args("k")},
	} {
		n := testing.AllocsPerRun(100, func() {
			call := Of(c.cmd, c.args)
			call.Verdict(false)
			call.FirstKey()
			call.CountKeys()
			for range call.Keys {
				continue
			}
		})
		assert.Zero(t, n, c.cmd)
	}
}

func BenchmarkOf(b *testing.B) {
	for _, c := range []struct {
		name string
		cmd  string
		args []any
	}{
		{"GET", "GET", args("k")},
		{"EVAL", "EVAL", args("return 1", 1, "k")},
		{"CLIENT_LIST", "CLIENT", args("LIST")},
		{"XREAD", "XREAD", args("COUNT", 10, "STREAMS", "k", "0")},
		{"unknown", "JSON.GET", args("k")},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				call := Of(c.cmd, c.args)
				if call.Verdict(false) == Allowed {
					call.FirstKey()
				}
			}
		})
	}
}
