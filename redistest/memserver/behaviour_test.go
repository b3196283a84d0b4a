package memserver_test

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redistest/memserver"
	"github.com/joomcode/redispipe/testbed"
)

// patience is how long a test waits for an event that must happen.
const patience = 30 * time.Second

// TestBehaviour runs sequences of commands, called stories, on a server in memory and on a real one.
// The replies must be equal. If a story is marked with the name of a difference, they must differ, and
// the test must get a warning.
func TestBehaviour(t *testing.T) {
	differences := memserver.Differences()
	server := testbed.NewServer(t)
	version := versionOf(t, server.Addr())
	told, differing := 0, map[string]bool{}
	var end time.Time // when to stop trying again: the machine may be too slow for the times in a story
	for _, s := range stories(t) {
		differing[s.name] = differing[s.name] || s.differs
		if testing.Short() && !several.MatchString(s.text) {
			continue // the story has only one client
		}
		if s.since != "" && older(version.redis, s.since) {
			continue
		}
		told++
		d, known := differences[s.name]
		require.True(t, known || s.name == "", "%s: no such difference", s.name)
		should := s.differs && version.has(d)
		want, got, warnings := compare(t, server.Addr(), s)
		for (want != got) != should && (end.IsZero() || time.Now().Before(end)) {
			if end.IsZero() {
				end = time.Now().Add(patience)
			}
			want, got, warnings = compare(t, server.Addr(), s)
		}
		switch {
		case !should && want != got:
			t.Errorf("%s\n  server: %s\n  memory: %s", s.text, want, got)
		case should && want == got:
			t.Errorf("%s\n  is marked as different, and is not: %s", s.text, got)
		}
		if warned := s.name != "" && d.Warned; warned != (len(warnings) > 0) {
			t.Errorf("%s\n  warned: %q", s.text, warnings)
		}
	}
	for name := range differences {
		assert.True(t, differing[name], "no story shows %q", name)
	}
	t.Logf("%d stories", told)
	require.Greater(t, told, 60)
}

// compare runs a story on both servers.
func compare(t *testing.T, addr string, s story) (want, got string, warnings []string) {
	log := &recorder{TB: t}
	memory := memserver.New(log)
	defer memory.Close()
	return s.tell(t, addr, time.Sleep), s.tell(t, memory.Addr(), memory.Advance), log.lines
}

// recorder is a TB that keeps the log.
type recorder struct {
	testing.TB
	lines  []string
	failed bool
}

func (r *recorder) Output() io.Writer { return r }

func (r *recorder) Write(line []byte) (int, error) {
	r.lines = append(r.lines, string(line))
	return len(line), nil
}

func (r *recorder) Fail() { r.failed = true }

func TestWarnings(t *testing.T) {
	for strict, start := range map[bool]func(testing.TB) *memserver.Server{false: memserver.New, true: memserver.Strict} {
		log := &recorder{TB: t}
		db := connect(t, start(log).Addr(), 2)
		db.Do("XDEL", "x", "1-1")
		db.Do("XDEL", "x", "1-1")
		db.Do("GEOADD", "g", 13.3, 38.1, "a")
		db.Do("GEODIST", "g", "a", "a")
		require.Len(t, log.lines, 2, "each is told once")
		require.Regexp(t, `^behaviour_test\.go:\d+: memserver: XDEL: .*\n$`, log.lines[0])
		require.Equal(t, strict, log.failed)
	}
}

// TestPublishedDifferences compares the table in the docs with the list of differences.
func TestPublishedDifferences(t *testing.T) {
	page, err := os.ReadFile("../../docs/testing.md")
	require.NoError(t, err)
	want := memserver.DifferencesTable()
	if !strings.Contains(string(page), want) {
		t.Errorf("docs/testing.md has another table than:\n%s", want)
	}
}

// story is a line of testdata/behaviour.txt.
type story struct {
	text    string
	name    string // name of the difference that the story shows, or of which the test may be warned
	differs bool
	since   string // the first version that has the commands
}

// mark matches a mark at the beginning of a story; several matches stories with several clients.
var (
	mark    = regexp.MustCompile(`^\{([^}]*)\} *`)
	several = regexp.MustCompile(`\bb[:>]`)
)

func stories(t *testing.T) (out []story) {
	lines, _ := rows(t, "testdata/behaviour.txt")
	for _, r := range lines {
		s := story{text: r.text}
		for m := mark.FindStringSubmatch(s.text); m != nil; m = mark.FindStringSubmatch(s.text) {
			s.text = strings.TrimPrefix(s.text, m[0])
			if since, is := strings.CutPrefix(m[1], "since "); is {
				s.since = since
				continue
			}
			s.name = strings.TrimSuffix(m[1], "?")
			s.differs = s.name == m[1]
		}
		out = append(out, s)
	}
	return out
}

// tell returns the replies of a server to the steps of a story.
func (s story) tell(t *testing.T, addr string, pass func(time.Duration)) string {
	on := telling{t: t, addr: addr, clients: map[string]*client{}}
	on.client("control").do("FLUSHALL")
	on.client("control").do("SCRIPT", "FLUSH")
	var replies []string
	for step := range strings.SplitSeq(s.text, " ; ") {
		if text, is := strings.CutPrefix(step, "+"); is {
			d, err := time.ParseDuration(text)
			require.NoError(t, err, s.text)
			pass(d)
			continue
		}
		replies = append(replies, on.step(step)...)
	}
	for _, c := range on.clients {
		c.conn.Close()
	}
	return strings.Join(replies, " | ")
}

// telling is a running story.
type telling struct {
	t       *testing.T
	addr    string
	clients map[string]*client
	waiting int // number of clients that wait
}

func (on *telling) client(name string) *client {
	if on.clients[name] == nil {
		on.clients[name] = dial(on.t, on.addr)
	}
	return on.clients[name]
}

// step runs a step, which is written as the head of testdata/behaviour.txt explains.
func (on *telling) step(step string) []string {
	name, how := "a", byte(':')
	if len(step) > 1 && strings.IndexByte(":><", step[1]) >= 0 {
		name, how, step = step[:1], step[1], strings.TrimSpace(step[2:])
	}
	c := on.client(name)
	if how == '<' {
		return []string{c.read()}
	}
	step, sorted := strings.CutPrefix(step, "~")
	step, ignored := strings.CutPrefix(step, "?")
	words, err := split(step)
	require.NoError(on.t, err, step)
	if how == '>' {
		c.send(words)
		on.waiting++
		blocked := fmt.Sprintf("blocked_clients:%d\r", on.waiting)
		for end := time.Now().Add(patience); !strings.Contains(on.client("control").do("INFO", "clients"), blocked); {
			require.True(on.t, time.Now().Before(end), "%s does not wait", step)
			time.Sleep(time.Millisecond)
		}
		return nil
	}
	if words[0] == "EACH" {
		return []string{c.each(words[1:])}
	}
	reply := c.do(words...)
	switch {
	case ignored:
		return nil
	case sorted:
		parts := strings.Fields(strings.Trim(reply, "[]"))
		slices.Sort(parts)
		return []string{fmt.Sprint(parts)}
	}
	return []string{reply}
}

// version is the version of a real server. Valkey has two: its own, and the version of Redis with
// which it is compatible.
type version struct{ redis, valkey string }

func versionOf(t *testing.T, addr string) (v version) {
	info := dial(t, addr).do("INFO", "server")
	for name, number := range map[string]*string{"redis": &v.redis, "valkey": &v.valkey} {
		if m := regexp.MustCompile(name + `_version:([0-9]+\.[0-9]+)`).FindStringSubmatch(info); m != nil {
			*number = m[1]
		}
	}
	require.NotEmpty(t, v.redis, info)
	return v
}

// has reports whether a server of this version shows the difference.
func (v version) has(d memserver.Difference) bool {
	if from, is := strings.CutPrefix(d.From, "Valkey "); is {
		return v.valkey != "" && !older(v.valkey, from)
	}
	return (d.Before == "" || older(v.redis, d.Before)) && (d.From == "" || !older(v.redis, d.From))
}

// older reports whether a version is less than another.
func older(version, than string) bool {
	var a, b [2]int
	fmt.Sscanf(version, "%d.%d", &a[0], &a[1])
	fmt.Sscanf(than, "%d.%d", &b[0], &b[1])
	return slices.Compare(a[:], b[:]) < 0
}
