package prefix_test

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/internal/prefix"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/redisvirtual"
)

// TestEveryVirtualCommand sends requests with every command of every server over virtual connections. A server
// gets only requests that are rewritten, or that the library itself sends for a handshake.
func TestEveryVirtualCommand(t *testing.T) {
	server := chaos.NewScripted(t, chaos.ScriptedOpts{})
	conn := conntest.Connect(t, server.Addr(), redisconn.Opts{})
	sender := redis.WithPrefix(redis.WithPrefix(conn, "t1"), ":")
	skipped := 3
	if testing.Short() {
		skipped = 1
	}
	rewritten := map[string]bool{}
	for name, arity := range recorded(t) {
		first, _, _ := strings.Cut(name, " ")
		out := []byte(nil)
		for _, line := range linesOf(name, arity) {
			if slices.ContainsFunc(keywords[skipped:], func(word string) bool { return slices.Contains(line, any(word)) }) {
				continue // TestEveryCommand has them
			}
			if cmd, args, _, err := prefix.Prefix("t1:").Request(first, line, nil); err == nil {
				rewritten[joined(cmd, args)] = true
			}
			out, _ = resp.AppendCommand(out, strings.ToLower(first), line)
		}
		read(t, redisvirtual.Conn(sender), out)
		if first != "MULTI" && first != "QUIT" {
			read(t, redisvirtual.Conn(sender), slices.Concat([]byte("multi\r\n"), out, []byte("exec\r\n")))
		}
	}
	sent := 0
	for _, r := range server.Requests() {
		words := []any{}
		for _, arg := range r.Args {
			words = append(words, arg)
		}
		if line := joined(r.Cmd, words); rewritten[line] {
			sent++
		} else {
			assert.NotContains(t, line, "word")
			assert.Contains(t, []string{"MULTI", "EXEC", "HELLO", "CLIENT", "PING", "INFO", "RESET"}, r.Cmd, line)
		}
		for i := range command.Of(r.Cmd, words).Keys {
			assert.True(t, r.Cmd == "CLUSTERSCAN" || hasPrefix(words[i]), "%s %q: word %d", r.Cmd, words, i)
		}
	}
	assert.Greater(t, sent, 3000)
}

// read writes requests and QUIT, and reads until the connection ends.
func read(t *testing.T, conn io.ReadWriteCloser, out []byte) {
	defer conn.Close()
	_, err := conn.Write(append(out, "QUIT\r\n"...))
	require.NoError(t, err)
	_, err = io.ReadAll(conn)
	require.NoError(t, err, "%.100q", out)
}
