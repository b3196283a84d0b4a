package cmd_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/joomcode/redispipe/cmd"
	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

func TestMain(m *testing.M) {
	testbed.RequireRedis()
	os.Exit(m.Run())
}

// underscored replaces the spaces in a word by underscores.
func underscored(s string) string { return strings.NewReplacer(" ", "_", "\n", "_").Replace(s) }

// Each command has the same bytes as a request that is written by hand.
func TestBytes(t *testing.T) {
	for _, c := range calls() {
		if c.words == "" {
			continue
		}
		got, err := redis.AppendRequest(nil, c.Request())
		require.NoError(t, err, c.words)
		var want []byte
		words := strings.Split(c.words, " ")
		args := make([]any, len(words)-1)
		for i, word := range words[1:] {
			args[i] = word
		}
		want, err = redis.AppendRequest(nil, redis.Req(words[0], args...))
		require.NoError(t, err)
		require.Equal(t, string(want), underscoredReply(got), c.words)
	}
}

func underscoredReply(b []byte) string {
	parts := strings.Split(string(b), "\r\n")
	for i := range parts {
		parts[i] = underscored(parts[i])
	}
	return strings.Join(parts, "\r\n")
}

// The calls use every function and every option.
func TestAllAreCalled(t *testing.T) {
	called := map[string]bool{}
	file, err := parser.ParseFile(token.NewFileSet(), "calls_test.go", nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			called[id.Name] = true
		}
		return true
	})
	for _, name := range functions(t) {
		require.True(t, called[name], name)
	}
}

// functions returns the names of the package's functions that return a Cmd or an option, and of the
// variables that are options.
func functions(t *testing.T) (names []string) {
	files, err := filepath.Glob("*_gen.go")
	require.NoError(t, err)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil && decl.Name.IsExported() {
					names = append(names, decl.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok && v.Names[0].IsExported() {
						names = append(names, v.Names[0].Name)
					}
				}
			}
		}
	}
	require.Greater(t, len(names), 650)
	return names
}

// live starts a server and returns a connection to it.
func live(t *testing.T, protocol int) *redisconn.Connection {
	return connect(t, testbed.NewServer(t), protocol)
}

func connect(t *testing.T, s *testbed.Server, protocol int) *redisconn.Connection {
	return conntest.Connect(t, s.Addr(), redisconn.Opts{Protocol: protocol})
}

// has reports whether the server knows the command. For servers before 7.0, which do not report
// subcommands, it asks only for the first word.
func has(t *testing.T, s redis.Sender, c redis.Command) bool {
	name, sub, _ := strings.Cut(c.Request().Cmd, " ")
	named, err := testbed.Has(testbed.Version(7, 0))
	require.NoError(t, err)
	if named && sub != "" {
		name += "|" + sub
	}
	infos, err := CommandInfo(name).Do(t.Context(), s)
	require.NoError(t, err)
	return infos[0] != nil
}

// refused reports whether an older server was asked for an option, or a subcommand, that it lacks.
func refused(c call, err error) bool {
	failed := redis.AsErrorx(err)
	return failed != nil && failed.IsOfType(redis.ErrResult) &&
		(c.newer && lacks.MatchString(failed.Message()) || strings.HasPrefix(failed.Message(), "ERR Unknown subcommand or wrong number")) // the error of Redis 6.2
}

// lacks matches the errors of servers that lack an option. It must not match other errors, because then
// no test would read the reply to the command.
var lacks = regexp.MustCompile(`(?i)syntax error|wrong number of arg|unsupported|unknown|unrecognized|invalid`)

// noOccasion matches the errors of servers that know a command but are not in the state for it.
var noOccasion = regexp.MustCompile("in tracking mode|not in import mode|cluster support disabled|already (busy|the owner|assigned)|not any known node" +
	"|Unknown node|unassigned|myself|not be this node|to a replica|more known nodes|does not know any other|No migrations|I tried hard|can't forget|served by this node" +
	"|cluster is down|allow_writes|not contain|node only|not served|Slot .* is not|other node|replicate|don't know about|already non-zero|not the owner|not handled by|has no owner|no node served")

// Each command for sessions is sent in a session, and each command for clusters to a node of a cluster,
// if the server has the command. Its reply must be readable as its type, unless the error is one
// of noOccasion.
func TestRepliesElsewhere(t *testing.T) {
	for protocol := 2; protocol <= 3; protocol++ {
		t.Run(fmt.Sprint("a session, RESP", protocol), func(t *testing.T) {
			conn := live(t, protocol)
			err := redis.WithSession(t.Context(), conn, "", func(s *redis.Session) error {
				sendEach(t, conn, s, calls(), func(c call) bool { return c.session })
				return nil
			})
			require.NoError(t, err)
		})
		t.Run(fmt.Sprint("a node, RESP", protocol), func(t *testing.T) {
			server := testbed.NewServer(t, testbed.Options{Config: []string{"cluster-enabled yes"}})
			conn := connect(t, server, protocol)
			id, err := ClusterMyID().Do(t.Context(), conn)
			require.NoError(t, err)
			sendEach(t, conn, redis.Sync{S: conn}, callsOf(id), func(c call) bool { return c.node })
		})
	}
}

func sendEach(t *testing.T, conn *redisconn.Connection, to Caller, all []call, is func(call) bool) {
	read, without := 0, 0
	for _, c := range all {
		if !is(c) || !has(t, conn, c) {
			continue
		}
		err := c.in(to)
		switch failed := redis.AsErrorx(err); {
		case err == nil:
			read++
		case failed.IsOfType(redis.ErrResult) && noOccasion.MatchString(failed.Message()):
			without++
		default:
			t.Errorf("%s: %v", c.words, err)
		}
	}
	require.Greater(t, read, without)
	t.Logf("%d replies read, %d refused", read, without)
}

// Each command is sent to a server that has the command. The reply must be readable as the type of the
// command.
func TestReplies(t *testing.T) {
	for protocol := 2; protocol <= 3; protocol++ {
		t.Run(fmt.Sprint("RESP", protocol), func(t *testing.T) {
			conn := live(t, protocol)
			sent, lacking := 0, 0
			for _, c := range calls() {
				if c.read == nil {
					require.NoError(t, redis.Batch(t.Context(), conn, c.Command))
					continue
				}
				if c.unsent || c.session || c.node || !has(t, conn, c) {
					continue
				}
				err := c.read(context.Background(), conn)
				if refused(c, err) {
					lacking++
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", c.words, err)
				}
				sent++
			}
			t.Logf("%d calls sent, %d refused by an older server", sent, lacking)
		})
	}
}

// The library and the server must find the same keys in each command.
func TestKeys(t *testing.T) {
	conn := live(t, 0)
	compared := 0
	for _, c := range calls() {
		if c.words == "" || command.Lookup(c.Request().Cmd) == nil || !has(t, conn, c) {
			continue // the table may lack commands of newer servers
		}
		encoded, err := redis.AppendRequest(nil, c.Request())
		require.NoError(t, err)
		words := wordsOf(t, encoded)
		keys, err := CommandGetKeys(words[0], words[1:]...).Do(t.Context(), conn)
		if failed := redis.AsErrorx(err); failed != nil {
			if c.newer || strings.Contains(failed.Message(), "wrong number of arguments") { // Redis 7.0 refuses COMMAND GETKEYS for RANDOMKEY with this error
				continue
			}
			// Redis 6.2 answers that a call is invalid if no argument is at the position of the key.
			require.Regexp(t, "no key arguments|Invalid arguments specified", failed.Message(), c.words)
		}
		if words[0] == "SPUBLISH" || words[0] == "CLUSTERSCAN" { // their first argument has a slot, but is not a key
			continue
		}
		require.ElementsMatch(t, keys, c.Request().Keys(), c.words)
		compared++
	}
	t.Logf("keys of %d calls compared", compared)
}

func wordsOf(t *testing.T, encoded []byte) (words []string) {
	res, _ := redis.ReadResponse(bufio.NewReader(bytes.NewReader(encoded)))
	list, err := redis.As[[]string](res)
	require.NoError(t, err)
	return list
}

// A length of 2^63 or more does not fit into an int64. Then ArLen returns an error, and DoAs[uint64] can
// read the length.
func TestArraysBeyondInt64(t *testing.T) {
	for protocol := 2; protocol <= 3; protocol++ {
		conn := live(t, protocol)
		if !has(t, conn, ArLen("a")) {
			t.Skip("the server has no arrays")
		}
		_, err := redis.DoAs[any](t.Context(), conn, "ARSET", "a", int64(math.MaxInt64), "v", "w")
		require.NoError(t, err)
		_, err = ArLen("a").Do(t.Context(), conn)
		require.Error(t, err)
		length, err := redis.DoAs[uint64](t.Context(), conn, "ARLEN", "a")
		require.NoError(t, err)
		require.EqualValues(t, uint64(1)<<63+1, length)
	}
}
