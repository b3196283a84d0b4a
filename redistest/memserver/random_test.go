package memserver_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redistest/memserver"
	"github.com/joomcode/redispipe/testbed"
)

// TestRandom runs random sequences of commands on a server in memory and on a real one. The replies must be equal.
func TestRandom(t *testing.T) {
	seed, sequences := uint64(1), 300
	if drill.InFull {
		seed, sequences = uint64(time.Now().UnixNano()), 3000
	}
	if text := os.Getenv("TORTURE_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	testbed.Needs(t, testbed.Version(7, 0))
	db := dial(t, testbed.NewServer(t).Addr())
	g := readGrammar(t)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range sequences {
		commands := make([]string, 25)
		for i := range commands {
			commands[i] = g.command(rnd)
		}
		commands = append(commands, "ECHO end") // the reply shows that there was one reply to each command
		if n, _, _ := firstDifference(t, db, commands); n > 0 {
			commands = shorten(t, db, commands[:n])
			_, want, got := firstDifference(t, db, commands)
			t.Errorf("TORTURE_SEED=%d\n%s\n  server: %q\n  memory: %q", seed, strings.Join(commands, " ; "), want, got)
		}
	}
}

// firstDifference runs commands until the replies differ. It returns the number of commands until then, or 0 if there is no
// difference or the test was warned of it.
func firstDifference(t *testing.T, db *client, commands []string) (n int, want, got string) {
	log := &recorder{TB: t}
	server := memserver.New(log)
	defer server.Close()
	memory := dial(t, server.Addr())
	defer memory.conn.Close()
	require.NoError(t, db.conn.SetDeadline(time.Now().Add(patience)))
	require.Equal(t, "OK", db.do("FLUSHALL"))
	for i, command := range commands {
		command, sorted := strings.CutPrefix(command, "~")
		words, err := split(command)
		require.NoError(t, err, command)
		want, got = db.do(words...), memory.do(words...)
		if sorted {
			want, got = sortWords(want), sortWords(got)
		}
		if len(log.lines) > 0 {
			break
		}
		if want != got && (want == "" || got == "" || want[0] != '-' || got[0] != '-') { // a request with two faults may be refused for either
			return i + 1, want, got
		}
	}
	return 0, "", ""
}

// shorten leaves out commands without which the replies still differ.
func shorten(t *testing.T, db *client, commands []string) []string {
	for i := len(commands) - 2; i >= 0; i-- {
		shorter := slices.Delete(slices.Clone(commands), i, i+1)
		if n, _, _ := firstDifference(t, db, shorter); n > 0 {
			commands = shorter[:n]
			i = min(i, len(commands)-1)
		}
	}
	return commands
}

func sortWords(reply string) string {
	words := strings.Fields(strings.Trim(reply, "[]"))
	slices.Sort(words)
	return fmt.Sprint(words)
}

// grammar is testdata/random.txt.
type grammar struct {
	commands []string
	values   map[string][]string // by the name of a word with %
}

func readGrammar(t *testing.T) grammar {
	file, err := os.Open("testdata/random.txt")
	require.NoError(t, err)
	defer file.Close()
	g := grammar{values: map[string][]string{}}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		switch name, values, is := strings.Cut(line, " = "); {
		case line == "", line[0] == '#':
		case is:
			g.values[name] = strings.Fields(values)
		default:
			g.commands = append(g.commands, line)
		}
	}
	require.Greater(t, len(g.commands), 100)
	return g
}

// innermost matches a choice that contains no other one, and valued a word that stands for values.
var (
	innermost = regexp.MustCompile(`\[[^][(){}]*\]|\([^][(){}]*\)|%?\w+\{\d\}`)
	valued    = regexp.MustCompile(`%\w+`)
)

// command returns a random command.
func (g grammar) command(rnd *rand.Rand) string {
	pick := func(list []string) string { return list[rnd.IntN(len(list))] }
	text := pick(g.commands)
	for innermost.MatchString(text) {
		text = innermost.ReplaceAllStringFunc(text, func(part string) string {
			if at := strings.IndexByte(part, '{'); at > 0 {
				return strings.TrimSpace(strings.Repeat(part[:at]+" ", 1+rnd.IntN(int(part[at+1]-'0'))))
			}
			choices := strings.Split(part[1:len(part)-1], "|")
			first, second := pick(choices), pick(choices)
			switch n := rnd.IntN(12); {
			case part[0] == '[' && n == 0 && first != second:
				return first + " " + second
			case part[0] == '[' && n > 6:
				return ""
			}
			return first
		})
	}
	return valued.ReplaceAllStringFunc(text, func(name string) string { return pick(g.values[name]) })
}
