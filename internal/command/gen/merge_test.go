package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTableIsUpToDate(t *testing.T) {
	t.Chdir("..")
	want, err := os.ReadFile(tableFile)
	require.NoError(t, err)
	m, err := readRecords()
	require.NoError(t, err)
	got, err := m.source()
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got), "run go generate ./internal/command")
}

func TestServersAreMerged(t *testing.T) {
	var m merger
	require.NoError(t, m.add("a.txt", []byte("get 2 readonly index:1/range:0:1:0\nwait 3 -\n")))
	require.NoError(t, m.add("b.txt", []byte("get 2 write index:1/range:0:1:0\nwait 3 blocking\nnew 1 readonly\n")))
	assert.Equal(t, []string{"a", "b"}, m.servers)
	assert.Len(t, m.commands, 3)
	assert.False(t, m.commands["GET"].readOnly, "one server says that it writes")
	assert.True(t, m.commands["WAIT"].blocking, "one server says that it blocks")
	assert.False(t, m.replicaSafe("NEW"), "it has no key")
	_, err := m.source()
	assert.ErrorContains(t, err, "no server knows", "the rules name commands that are not there")
}

func TestWhatGenDoesNotUnderstandFails(t *testing.T) {
	for _, text := range []string{
		"x\n",
		"x many -\n",
		"x 1 - magic:1/range:0:1:0\n",
		"x 1 - index:1/range:0\n",
		"x 1 - index:1/keynum:1:2:1\n",
		"x 1 - keyword:A:1/keynum:0:1:1\n",
		"x 1 - unknown/unknown\n",
		"x 1 - index:1/range:0:1:0\nx 1 - index:2/range:0:1:0\n",
	} {
		var m merger
		assert.Error(t, m.add("a.txt", []byte(text)), text)
	}
	for _, reply := range []any{nil, "OK", []any{"get"}, []any{[]any{"get", 2, []any{}, 1, 1, 1}}} {
		_, err := parseReply(reply)
		assert.Error(t, err)
	}
}

// The arguments in COMMAND DOCS become the positions of durations.
func TestTimes(t *testing.T) {
	arg := func(name, kind string, more ...any) any { return append([]any{"name", name, "type", kind}, more...) }
	many, optional := []any{"multiple"}, []any{"optional"}
	entries := []entry{{name: "pop"}, {name: "set"}, {name: "box"}, {name: "box|wait"}, {name: "none"}}
	addTimes(entries, []any{
		"pop", []any{"arguments", []any{arg("key", "key", "flags", many), arg("timeout", "double")}},
		"set", []any{"arguments", []any{arg("key", "key"), arg("expiration", "oneof", "flags", optional, "arguments",
			[]any{arg("seconds", "integer", "token", "EX"), arg("unix-time-seconds", "unix-time", "token", "EXAT")})}},
		"box", []any{"subcommands", []any{"box|wait", []any{"arguments", []any{arg("timeout", "integer"), arg("timeout", "pure-token", "token", "TIMEOUT")}}}},
		"none", []any{"arguments", []any{arg("key", "key", "flags", many), arg("seconds", "integer"), arg("value", "string")}},
	})
	var got [][]string
	for _, e := range entries {
		got = append(got, e.times)
	}
	assert.Equal(t, [][]string{{"time:@-1:decimal"}, {"time:EX:seconds"}, nil, {"time:@2:milliseconds"}, nil}, got)
	recorded, err := parseRecord([]byte("pop 2 write index:1/range:0:1:0 time:@-1:decimal\n"))
	require.NoError(t, err)
	assert.Equal(t, []string{"time:@-1:decimal"}, recorded[0].times)
	assert.Equal(t, "pop 2 write index:1/range:0:1:0 time:@-1:decimal\n", string(formatRecord(recorded)))
	var m merger
	assert.Error(t, m.add("a.txt", []byte("x 1 - time:EX:weeks\n")))
	assert.NoError(t, m.add("b.txt", []byte("y 1 - time:EX:seconds\n")))
	require.NoError(t, m.add("c.txt", []byte("y 1 - time:EX:seconds time:PX:milliseconds\n")))
	assert.Equal(t, []string{`{option: "EX", unit: Seconds}`, `{option: "PX", unit: Milliseconds}`}, m.commands["Y"].times, "one server has a newer option")
}
