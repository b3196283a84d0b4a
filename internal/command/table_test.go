package command

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/command/live"
)

// startServer starts the server that REDIS_SERVER names (a binary, or an address), or redis-server.
func startServer(t *testing.T) *live.Server {
	server, err := live.Open(cmp.Or(os.Getenv("REDIS_SERVER"), "redis-server"))
	require.NoError(t, err, "this test asks a real server: install redis-server")
	t.Cleanup(server.Close)
	return server
}

// described is a server's description of a command.
type described struct {
	words    []string
	arity    int
	readOnly bool
}

// describe lists the server's commands and subcommands.
func describe(t *testing.T, server *live.Server) (list []described) {
	var walk func(any)
	walk = func(reply any) {
		for _, c := range reply.([]any) {
			fields := c.([]any)
			list = append(list, described{
				words:    strings.Split(fields[0].(string), "|"),
				arity:    max(fields[1].(int), -fields[1].(int)),
				readOnly: slices.Contains(fields[2].([]any), "readonly"),
			})
			if len(fields) > 9 { // since 7.0
				walk(fields[9])
			}
		}
	}
	reply, err := server.Do("COMMAND")
	require.NoError(t, err)
	walk(reply)
	return list
}

// unlisted are commands that only Redis 6.2 lists: one that was removed later, and two words of
// HTTP requests.
var unlisted = []string{"stralgo", "post", "host:"}

func TestTableHasAllCommandsOfServer(t *testing.T) {
	list := describe(t, startServer(t))
	assert.Greater(t, len(list), 200)
	for _, d := range list {
		if slices.Contains(unlisted, d.words[0]) {
			continue
		}
		name := strings.Join(d.words, " ")
		info := Lookup(name)
		if assert.NotNil(t, info, name) && info.Is(ReplicaSafe) && !info.Is(Container) {
			assert.True(t, d.readOnly, "%s is safe for replicas, but it may write", name)
		}
	}
}

// routedByChannel are commands whose channel or cursor counts as a key in this library, because its
// slot determines the node. COMMAND GETKEYS does not report it.
var routedByChannel = []string{"spublish", "ssubscribe", "sunsubscribe", "clusterscan"}

// TestKeysAreThoseOfServer compares the keys of every command, with all kinds of arguments, with
// the keys that a server reports.
func TestKeysAreThoseOfServer(t *testing.T) {
	if testing.Short() {
		t.Skip("it asks a server for seconds, in one goroutine")
	}
	server := startServer(t)
	list := describe(t, server)
	if !slices.ContainsFunc(list, func(d described) bool { return len(d.words) > 1 }) {
		t.Skip("the server lacks version 7.0: it knows neither subcommands nor exactly which arguments are keys")
	}
	withKeys := 0
	for _, d := range list {
		if slices.Contains(routedByChannel, d.words[0]) {
			continue
		}
		found := false
		for _, line := range argumentLines(d) {
			want, asked := serverKeys(t, server, line)
			if !asked {
				continue
			}
			found = found || len(want) > 0
			compareKeys(t, line[0], line[1:], want)
			if len(line) > 1 && line[1] != "" {
				compareKeys(t, strings.Join(line[:2], " "), line[2:], want)
			}
		}
		if found {
			withKeys++
		}
	}
	assert.Greater(t, withKeys, 180, "the test asked for too few commands that have keys")
}

// argumentLines returns calls of the command: of several lengths, with numbers of keys and keywords
// at all positions. The other arguments are all different, so that the test notices a wrong key.
func argumentLines(d described) (lines [][]string) {
	const more = 6 // the shortest MIGRATE with AUTH and KEYS is this much longer
	for length := max(d.arity, len(d.words)); length <= d.arity+more; length++ {
		plain := slices.Clone(d.words)
		for i := len(plain); i < length; i++ {
			plain = append(plain, fmt.Sprintf("%s%d", []string{"key", "KEY"}[i%2], i))
		}
		lines = append(lines, plain)
		for i := len(d.words); i < length; i++ {
			for _, special := range []string{"1", "2", "3", "", "Store", "STOREDIST", "streams"} {
				if d.words[0] == "georadius" && i == 5 && len(special) > 1 {
					continue // servers differ about a keyword in the place of the unit
				}
				line := slices.Clone(plain)
				line[i] = special
				lines = append(lines, line)
			}
		}
	}
	return append(lines, specialLines(d.words[0])...)
}

// specialLines returns calls that argumentLines does not generate.
func specialLines(name string) [][]string {
	var texts []string
	switch name {
	case "migrate":
		texts = []string{
			"h 1 @ 0 9 keys a b", "h 1 @ 0 9 COPY REPLACE AUTH p KEYS a", "h 1 @ 0 9 AUTH2 u p Keys a b c",
			"h 1 @ 0 9 AUTH keys KEYS a", "h 1 @ 0 9 AUTH2 keys keys KEYS a", "h 1 k 0 9 AUTH keys",
		}
	case "sort":
		texts = []string{"k BY STORE GET STORE STORE d", "k LIMIT STORE 2 DESC", "k STORE a STORE b", "k GET # store d ALPHA"}
	case "xreadgroup":
		texts = []string{"GROUP STREAMS STREAMS STREAMS a b > >", "GROUP g c COUNT 2 NOACK STREAMS a >"}
	case "xread":
		texts = []string{"COUNT 2 BLOCK 5 STREAMS a b 0 0", "STREAMS STREAMS 0"}
	case "georadius":
		texts = []string{"k 1 2 3 m COUNT 1 STORE d", "k 1 2 3 m ASC STOREDIST d"}
	}
	var lines [][]string
	for _, text := range texts {
		line := strings.Fields(name + " " + text)
		for i := range line {
			line[i] = strings.Replace(line[i], "@", "", 1)
		}
		lines = append(lines, line)
	}
	return lines
}

// serverKeys returns the keys of a call according to the server. It does not ask the server about
// calls that the server does not accept: those with unknown subcommands or too many words.
func serverKeys(t *testing.T, server *live.Server, line []string) (keys []string, asked bool) {
	reply, err := server.Do(append([]string{"COMMAND", "GETKEYS"}, line...)...)
	require.NoError(t, err)
	if line[0] == "pfmerge" && len(line) == 2 {
		return nil, false // the server accepts the call and says that it has no keys
	}
	switch r := reply.(type) {
	case live.Error:
		// Since 8.10, COMMAND GETKEYS parses these two like the commands themselves, and returns an
		// error for invalid calls.
		if strings.HasPrefix(line[0], "xread") && strings.Contains(string(r), "Invalid arguments") {
			return nil, false
		}
		return nil, !strings.Contains(string(r), "Invalid number of arguments") && !strings.Contains(string(r), "Invalid command")
	case []any:
		for _, key := range r {
			keys = append(keys, key.(string))
		}
	}
	return keys, true
}

func compareKeys(t *testing.T, cmd string, line, want []string) {
	list := make([]any, len(line))
	for i, arg := range line {
		list[i] = arg
		if i%2 == 0 {
			list[i] = []byte(arg)
		}
	}
	var got []string
	for i := range Of(cmd, list).Keys {
		if i == InCmd {
			_, word, _ := strings.Cut(cmd, " ")
			got = append(got, word)
			continue
		}
		got = append(got, line[i])
	}
	assert.Equal(t, want, got, "%s %q", cmd, line)
}
