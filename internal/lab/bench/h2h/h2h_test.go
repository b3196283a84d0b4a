package h2h

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/torture"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

const childFlag = "-h2h-child"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childFlag {
		if err := RunChild(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	testbed.RequireRedis()
	os.Exit(m.Run())
}

// rows runs a scenario and returns the cells of its table. It runs the scenario again, for longer,
// until the table shows the expected effects: if the machine pauses for a second, calls time out,
// and there are few faults.
func rows(t *testing.T, only, clients string, shows func([][]string) bool) [][]string {
	t.Helper()
	for d := time.Second; ; d *= 2 {
		if got := rowsOf(t, only, clients, d); shows(got) || d >= 8*time.Second {
			return got
		}
	}
}

func rowsOf(t *testing.T, only, clients string, duration time.Duration) [][]string {
	t.Helper()
	self, err := Self(childFlag)
	require.NoError(t, err)
	text, err := Run(Config{Child: self, Only: only, Clients: clients, Duration: duration, Log: t.Output()})
	require.NoError(t, err)
	_, table, ok := strings.Cut(text, "**"+only+"**")
	require.True(t, ok)
	var out [][]string
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| client") {
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			out = append(out, cells)
		}
	}
	return out
}

func TestResetFindsDuplicatesOfAClientThatRetries(t *testing.T) {
	got := rows(t, "H1", "redispipe,go-redis", func(got [][]string) bool {
		return len(got) == 4 && got[0][4] != "0" && got[1][4] != "0" && got[2][5] != "0"
	})
	require.Len(t, got, 4)
	for _, row := range got[:2] {
		assert.Equal(t, "redispipe", row[0])
		assert.Equal(t, []string{"0", "0", "0"}, row[5:8], "twice, lost, false promises: %v", row)
		assert.NotEqual(t, "0", row[4], "there were resets: %v", row)
	}
	assert.NotEqual(t, "0", got[2][5], "go-redis retries writes by default: %v", got[2])
}

func TestPoisonFindsWrongAnswers(t *testing.T) {
	got := rows(t, "H4c", "redispipe,radix", func(got [][]string) bool {
		return len(got) == 3 && got[0][4] == "0" && got[2][3] != "0"
	})
	require.Len(t, got, 3)
	assert.Equal(t, []string{"0", "0", "refused"}, got[0][3:])
	assert.NotEqual(t, "0", got[2][3], "radix shares its connections: %v", got[2])
}

func TestDeath(t *testing.T) {
	for stderr, want := range map[string]string{
		"goroutine 1\npanic: boo":             "died: panic",
		"runtime: out of memory: cannot":      "died: out of memory",
		"fatal error: stack overflow":         "died: stack overflow",
		"fatal error: all goroutines are ...": "died: fatal error",
		"bench: connect: refused":             "bench: connect: refused",
	} {
		assert.Equal(t, want, death(errors.New("exit status 2"), stderr))
	}
	assert.Equal(t, "hung, killed", death(errors.New("signal: killed"), ""))
}

func TestScoreNotSent(t *testing.T) {
	f := finding{
		Values:  map[string]string{"“not sent”, though executed": "0"},
		Refused: []refusal{{"id:1:1:", true}, {"id:1:2:", false}, {"id:1:3:", false}},
	}
	scoreNotSent(&f, []chaos.LoggedRequest{{Head: "*3\r\n$5\r\nRPUSH\r\n$5\r\nlog:1\r\n$7\r\nid:1:3:\r\n"}})
	assert.Equal(t, "1 of 2", f.Values["“not sent”, of those that never left"])
}

func TestOutagesOfFailovers(t *testing.T) {
	began := time.Now()
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	s := &failoverStage{seen: []seenFailover{{began: at(0), announced: at(100)}, {began: at(1000), announced: at(1100)}, {began: at(2000), announced: at(2100)}}, until: at(3000)}
	lasted, resumed := s.outages([]torture.Gap{
		{From: at(-50), To: at(-10)},                              // before the first failover
		{From: at(50), To: at(130)}, {From: at(500), To: at(510)}, // two of the first failover, of which the longer one counts
		{From: at(999), To: at(1090)},                                  // over before the announcement
		{From: at(2800), To: at(3500)}, {From: at(3600), To: at(9000)}, // of the third failover, and of one whose end the client did not see
	})
	assert.Equal(t, []time.Duration{80 * time.Millisecond, 91 * time.Millisecond, 700 * time.Millisecond}, lasted)
	assert.Equal(t, []time.Duration{30 * time.Millisecond, 0, 1400 * time.Millisecond}, resumed)
	assert.Equal(t, "30ms / 1.4s", quantiles(resumed, 50, 100))
	assert.Equal(t, "–", quantiles(nil, 50))
}

func TestNormal(t *testing.T) {
	assert.Equal(t, []any{"a", int64(1), nil, int64(2)}, normal([]any{[]byte("a"), int64(1), nil, 2}))
}

func TestScenariosAreNamedOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range scenarios() {
		assert.False(t, seen[s.id], s.id)
		seen[s.id] = true
		assert.NotEmpty(t, s.columns)
	}
}
