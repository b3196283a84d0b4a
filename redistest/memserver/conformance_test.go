package memserver_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/memserver"
	"github.com/joomcode/redispipe/testbed"
)

// row is a line of the tables: one or several commands. The result of the last one is compared.
type row struct {
	text     string
	requests []redis.Request
}

// TestConformance checks that the server in memory answers like a real one, with the same Go types,
// and the same types, codes and traits of errors. If a difference is listed, it must exist.
func TestConformance(t *testing.T) {
	drill.Rotate(t)
	same, _ := rows(t, "testdata/conformance.txt")
	different, reasons := rows(t, "testdata/differences.txt")
	only3, reasons3 := rows(t, "testdata/differences_resp3.txt")
	require.NotContains(t, append(reasons, reasons3...), "", "each has a reason")
	require.GreaterOrEqual(t, len(same)-len(only3), 300)

	testbed.Needs(t, testbed.Version(7, 0))
	server := testbed.NewServer(t)
	memory := memserver.New(t)
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", protocol), func(t *testing.T) {
			c := comparison{connect(t, server.Addr(), protocol), connect(t, memory.Addr(), protocol)}
			differs := map[string]bool{}
			for _, r := range different {
				differs[r.text] = true
			}
			for _, r := range only3 {
				require.True(t, slices.ContainsFunc(same, func(o row) bool { return o.text == r.text }), r.text)
				differs[r.text] = protocol == 3
			}
			compared := 0
			for _, r := range append(slices.Clone(same), different...) {
				want, got := c.run(t, r)
				switch {
				case !differs[r.text]:
					assert.Equal(t, want, got, r.text)
					compared++
				case want == got:
					t.Errorf("%s: is listed as a difference, and is none: %s", r.text, got)
				}
			}
			t.Logf("%d rows alike, %d listed as different", compared, len(same)+len(different)-compared)
		})
	}
}

// comparison has connections to a real server and to one in memory.
type comparison struct{ real, memory redis.Sync }

func (c comparison) run(t *testing.T, r row) (want, got string) {
	return run(t, c.real, r), run(t, c.memory, r)
}

func connect(t *testing.T, addr string, protocol int) redis.Sync {
	conn, err := redisconn.Connect(t.Context(), addr, redisconn.Opts{
		Logger: redisconn.NoopLogger{}, IOTimeout: time.Minute, ScriptMode: true, Protocol: protocol,
	})
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return redis.Sync{S: conn}
}

// run returns the shape of a row's result.
func run(t *testing.T, db redis.Sync, r row) string {
	t.Helper()
	db.SendMany([]redis.Request{redis.Req("DISCARD"), redis.Req("UNWATCH")}) // in case the previous row left a transaction open
	for _, res := range db.SendMany([]redis.Request{redis.Req("SELECT", 0), redis.Req("FLUSHALL"),
		redis.Req("SCRIPT", "FLUSH"), redis.Req("CLIENT", "SETNAME", "")}) {
		require.NoError(t, redis.AsError(res))
	}
	return shape(last(db.SendMany(r.requests)))
}

func last(results []any) any { return results[len(results)-1] }

// shape describes the Go type of a result and of everything in it. For an error it has the type,
// the traits and the server's code.
func shape(res any) string {
	switch v := res.(type) {
	case []any:
		parts := make([]string, len(v))
		for i, el := range v {
			parts[i] = shape(el)
		}
		return "[]any{" + strings.Join(parts, ", ") + "}"
	case map[string]any:
		var parts []string
		for key, el := range v {
			parts = append(parts, key+": "+shape(el))
		}
		sort.Strings(parts)
		return "map{" + strings.Join(parts, ", ") + "}"
	case error:
		err := redis.AsErrorx(v)
		code, _, _ := strings.Cut(err.Message(), " ")
		return fmt.Sprintf("%s %s not sent: %t, connectivity: %t, move: %t", err.Type().FullName(), code,
			err.HasTrait(redis.ErrTraitNotSent), err.HasTrait(redis.ErrTraitConnectivity), err.HasTrait(redis.ErrTraitClusterMove))
	}
	return fmt.Sprintf("%T", res)
}

// rows reads a table. A comment above rows is the reason why their results differ.
func rows(t *testing.T, name string) (table []row, reasons []string) {
	file, err := os.Open(name)
	require.NoError(t, err)
	defer file.Close()
	seen := map[string]bool{}
	reason := ""
	for lines := bufio.NewScanner(file); lines.Scan(); {
		text := strings.TrimSpace(lines.Text())
		if comment, is := strings.CutPrefix(text, "#"); is {
			reason = strings.TrimSpace(comment)
			continue
		}
		if text == "" {
			reason = ""
			continue
		}
		require.False(t, seen[text], "%s is there twice", text)
		seen[text] = true
		r := row{text: text}
		for command := range strings.SplitSeq(text, " ; ") {
			words, err := split(command)
			require.NoError(t, err, text)
			req := redis.Request{Cmd: words[0]}
			for _, arg := range words[1:] {
				req.Args = append(req.Args, arg)
			}
			r.requests = append(r.requests, req)
		}
		table, reasons = append(table, r), append(reasons, reason)
	}
	return table, reasons
}

// split splits a command into words, which may be quoted.
func split(command string) (words []string, err error) {
	for command = strings.TrimSpace(command); command != ""; command = strings.TrimSpace(command) {
		if command[0] != '"' {
			word, rest, _ := strings.Cut(command, " ")
			words, command = append(words, word), rest
			continue
		}
		quoted, err := strconv.QuotedPrefix(command)
		if err != nil {
			return nil, err
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, err
		}
		words, command = append(words, word), command[len(quoted):]
	}
	if len(words) == 0 {
		return nil, errors.New("an empty command")
	}
	return words, nil
}
