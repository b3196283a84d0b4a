package prefix_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/command/live"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/prefix"
)

// recorded returns all commands of all recorded servers, with the least number of words of each.
func recorded(t *testing.T) map[string]int {
	files, err := filepath.Glob("../command/gen/servers/*.txt")
	require.NoError(t, err)
	all := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			arity, err := strconv.Atoi(fields[1])
			require.NoError(t, err)
			all[strings.ToUpper(strings.ReplaceAll(fields[0], "|", " "))] = max(arity, -arity)
		}
	}
	require.Greater(t, len(all), 500)
	return all
}

// keywords are words that precede keys in some commands. They include numbers of keys.
var keywords = []string{"1", "2", "store", "STREAMS", "Keys"}

// linesOf returns requests with a command, of several lengths, and with a keyword at each position.
func linesOf(name string, arity int) (lines [][]any) {
	words := strings.Fields(name)
	for length := max(arity, len(words)); length <= arity+2; length++ {
		plain := make([]any, 0, length-1)
		for _, word := range words[1:] {
			plain = append(plain, word)
		}
		for i := len(plain); i < length-1; i++ {
			plain = append(plain, fmt.Sprintf("word%d", i))
		}
		lines = append(lines, plain)
		for i := len(words) - 1; i < length-1; i++ {
			for _, keyword := range keywords {
				line := slices.Clone(plain)
				line[i] = keyword
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// TestEveryCommand rewrites requests with every command of every server. According to the table,
// and to a server that is asked, no key is left without the prefix, and nothing else changes.
func TestEveryCommand(t *testing.T) {
	if testing.Short() {
		t.Skip("it asks a server for seconds, in one goroutine")
	}
	server, err := live.Open(cmp.Or(os.Getenv("REDIS_SERVER"), "redis-server"))
	require.NoError(t, err, "this test asks a real server: install redis-server")
	defer server.Close()
	passed, refused, asked := map[string]bool{}, 0, 0
	for name, arity := range recorded(t) {
		first, _, _ := strings.Cut(name, " ")
		for _, line := range linesOf(name, arity) {
			cmd, args, _, err := prefix.Prefix("t1:").Request(first, line, nil)
			switch {
			case err != nil:
				require.True(t, err.IsOfType(errs.ErrKeysUnknown), "%s %q: %v", name, line, err)
				refused++
				continue
			case slices.Equal(args, line):
				passed[name] = true
			default:
				compareWords(t, name, line, args)
			}
			for i := range command.Of(cmd, args).Keys {
				require.True(t, name == "CLUSTERSCAN" || hasPrefix(args[i]), "%s %q: word %d", name, args, i)
			}
			for _, key := range serverKeys(t, server, cmd, args) {
				require.True(t, hasPrefix(key), "%s %q: %s", name, args, key)
				asked++
			}
		}
	}
	assert.Greater(t, asked, 2000)
	assert.Greater(t, refused, 500)
	for _, name := range strings.Fields("FLUSHALL FLUSHDB DBSIZE SWAPDB RANDOMKEY DEBUG EVAL FCALL KEYS SCAN SORT PUBLISH MONITOR TS.MGET") {
		assert.False(t, passed[name], "%s is sent as it is", name)
	}
	for name := range passed {
		assert.False(t, command.Lookup(name).OnlyKey() > 0, "%s has a key", name)
	}
}

func hasPrefix(word any) bool { return strings.HasPrefix(word.(string), "t1:") }

// compareWords compares a rewritten request with the original one: words are added only at the end, and
// keys differ only by the prefix.
func compareWords(t *testing.T, name string, before, after []any) {
	require.GreaterOrEqual(t, len(after), len(before), name)
	for i := range before {
		if before[i] != after[i] {
			require.Equal(t, "t1:"+before[i].(string), after[i], "%s %q", name, before)
		}
	}
}

// serverKeys returns the words that the server treats as keys, or nil if it does not accept the
// request.
func serverKeys(t *testing.T, server *live.Server, cmd string, args []any) (keys []any) {
	words := []string{"COMMAND", "GETKEYS", cmd}
	for _, arg := range args {
		words = append(words, arg.(string))
	}
	reply, err := server.Do(words...)
	require.NoError(t, err)
	keys, _ = reply.([]any)
	return keys
}

// The table of commands lists only one of these options, or none.
func TestOptions(t *testing.T) {
	for _, c := range []struct{ from, to string }{
		{"SORT k BY w_* LIMIT 0 STORE GET # get o_*->f STORE a ALPHA store b", "SORT t1:k BY t1:w_* LIMIT 0 STORE GET # get t1:o_*->f STORE t1:a ALPHA store t1:b"},
		{"SORT_RO k BY w_* GET #", "SORT_RO t1:k BY t1:w_* GET #"},
		{"GEORADIUS k 1 2 3 m COUNT 1 STORE a STOREDIST b STORE STORE", "GEORADIUS t1:k 1 2 3 m COUNT 1 STORE t1:a STOREDIST t1:b STORE t1:STORE"},
		{"GEORADIUSBYMEMBER k STORE 3 m storedist b STORE c", "GEORADIUSBYMEMBER t1:k STORE 3 m storedist t1:b STORE t1:c"},
		{"MIGRATE h 1 k 0 9 AUTH KEYS", "MIGRATE h 1 t1:k 0 9 AUTH KEYS"},
		{"XREADGROUP COUNT 1 GROUP STREAMS c STREAMS k >", "XREADGROUP COUNT 1 GROUP STREAMS c STREAMS t1:k >"},
		{"XREAD COUNT 1 BLOCK 5 STREAMS STREAMS b 0 0", "XREAD COUNT 1 BLOCK 5 STREAMS t1:STREAMS t1:b 0 0"},
		{"EVAL s 2 a b c", "EVAL s 2 t1:a t1:b c"},
		{"SCAN 0", "SCAN 0 MATCH t1:*"},
		{"SCAN 0 TYPE MATCH match x* COUNT 5", "SCAN 0 TYPE MATCH match t1:x* COUNT 5"},
		{"CLUSTERSCAN 0-{06S}-0 COUNT 5", "CLUSTERSCAN 0-{06S}-0 COUNT 5 MATCH t1:*"},
		{"KEYS *", "KEYS t1:*"},
		{"PUBLISH c m", "PUBLISH t1:c m"},
		{"SPUBLISH c m", "SPUBLISH t1:c m"},
		{"PUBSUB CHANNELS", "PUBSUB CHANNELS t1:*"},
		{"pubsub channels c*", "pubsub channels t1:c*"},
		{"PUBSUB SHARDNUMSUB a b", "PUBSUB SHARDNUMSUB t1:a t1:b"},
		{"PUBSUB NUMSUB", "PUBSUB NUMSUB"},
		{"CLUSTER KEYSLOT k", "CLUSTER KEYSLOT t1:k"},
		{"OBJECT ENCODING k", "OBJECT ENCODING t1:k"},
		{"XINFO HELP", "XINFO HELP"},
		{"WATCH a b", "WATCH t1:a t1:b"},
	} {
		from, words := split(c.from)
		cmd, args, _, err := prefix.Prefix("t1:").Request(from, words, nil)
		if assert.Nil(t, err, c.from) {
			assert.Equal(t, c.to, joined(cmd, args), c.from)
		}
	}
}

func split(text string) (string, []any) {
	words := strings.Fields(text)
	args := make([]any, len(words)-1)
	for i, word := range words[1:] {
		args[i] = word
	}
	return words[0], args
}

func joined(cmd string, args []any) string {
	for _, arg := range args {
		cmd += " " + arg.(string)
	}
	return cmd
}
