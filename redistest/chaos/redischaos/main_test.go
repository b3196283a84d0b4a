package main

import (
	"bufio"
	"context"
	"flag"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redistest/chaos"
)

// program is a running redischaos in front of a server that echoes.
type program struct {
	t   *testing.T
	in  *io.PipeWriter
	out *bufio.Scanner
}

func start(t *testing.T, args ...string) (p program, addr string) {
	server := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: chaos.ScriptedEcho})
	in, typed := io.Pipe()
	printed, out := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, append([]string{"-listen", "127.0.0.1:0", "-to", server.Addr()}, args...), in, out)
		_ = out.Close()
	}()
	t.Cleanup(func() {
		_ = typed.Close()
		_ = printed.Close()
		stop()
		require.NoError(t, <-ended)
	})
	p = program{t, typed, bufio.NewScanner(printed)}
	addr, _, _ = strings.Cut(p.line(), " in front of ")
	return p, addr
}

func (p program) line() string {
	p.t.Helper()
	require.True(p.t, p.out.Scan())
	return p.out.Text()
}

// say types a command and returns the answer.
func (p program) say(command string) string {
	p.t.Helper()
	_, err := io.WriteString(p.in, "\n"+command+"\n")
	require.NoError(p.t, err)
	return p.line()
}

// ask sends a request over a new connection and returns the first line of the reply.
func ask(t *testing.T, addr, request string) (string, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil { // a reset may come so early that the write fails
		return "", err
	}
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	if _, err := io.WriteString(conn, request+"\r\n"); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(line), err
}

func TestCommands(t *testing.T) {
	p, addr := start(t, "readonly")
	require.Equal(t, "ok: readonly", p.line())
	for _, step := range []struct{ command, answer, reply string }{
		{"stats", "connections 0, open 0, requests 0, replies 0, faults map[]", "-READONLY You can't write against a read only replica."},
		{"heal", "ok: heal", "+OK"},
		{"loading", "ok: loading", "-LOADING Redis is loading the dataset in memory"},
		{"heal", "ok: heal", "+OK"},
		{"cluster-down", "ok: cluster-down", "-CLUSTERDOWN The cluster is down"},
		{"heal", "ok: heal", "+OK"},
		{"moved", "ok: moved", "-MOVED 12182 " + addr},
		{"heal", "ok: heal", "+OK"},
		{"moved h:1", "ok: moved h:1", "-MOVED 12182 h:1"},
		{"heal", "ok: heal", "+OK"},
		{"refuse  OOM no memory", "ok: refuse OOM no memory", "-OOM no memory"},
		{"heal", "ok: heal", "+OK"},
		{"slow 1 1ms", "ok: slow 1 1ms", "+OK"},
		{"nonsense", `error: unknown command "nonsense"`, "+OK"},
		{"black-hole somewhere", `error: black-hole: want requests, replies or both, not "somewhere"`, "+OK"},
		{"slow fast 1s", `error: slow: want a number of bytes and a time, such as 10 100ms, not "fast 1s"`, "+OK"},
		{"slow 10", `error: slow: want a number of bytes and a time, such as 10 100ms, not "10"`, "+OK"},
		{"cut -1", `error: cut: want a number of bytes, not "-1"`, "+OK"},
	} {
		require.Equal(t, step.answer, p.say(step.command))
		reply, err := ask(t, addr, "SET foo 1")
		require.NoError(t, err, step.command)
		require.Equal(t, step.reply, reply)
	}
	for _, command := range []string{"down", "up", "cut 2", "heal", "reset-after SET foo", "heal"} {
		require.Equal(t, "ok: "+command, p.say(command))
		_, err := ask(t, addr, "SET foo 1")
		require.Equal(t, strings.ContainsAny(command, " w"), err != nil, "%s: %v", command, err)
	}
	for _, command := range []string{"freeze", "half-open", "black-hole both", "heal"} {
		require.Equal(t, "ok: "+command, p.say(command))
	}
}

func TestHTTP(t *testing.T) {
	p, addr := start(t, "-http", "127.0.0.1:0")
	url := regexp.MustCompile("http://.*").FindString(p.line())
	post := func(command string) (int, string) {
		r, err := http.Post(url, "text/plain", strings.NewReader(command))
		require.NoError(t, err)
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		return r.StatusCode, strings.TrimSpace(string(body))
	}
	code, body := post("loading")
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, "ok: loading", body)
	reply, err := ask(t, addr, "SET foo 1")
	require.NoError(t, err)
	require.Regexp(t, "^-LOADING", reply)
	for command, want := range map[string]int{"": http.StatusBadRequest, strings.Repeat("x", 5000): http.StatusRequestEntityTooLarge} {
		code, _ := post(command)
		require.Equal(t, want, code)
	}
	r, err := http.Get(url)
	require.NoError(t, err)
	defer r.Body.Close()
	stats, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.Contains(t, string(stats), "faults map[refuse:1]")
	http.DefaultClient.CloseIdleConnections()
}

func TestArguments(t *testing.T) {
	require.ErrorIs(t, run(t.Context(), []string{"-help"}, nil, io.Discard), flag.ErrHelp)
	require.Error(t, run(t.Context(), []string{"-listen", "nowhere"}, nil, io.Discard))
	require.Error(t, run(t.Context(), []string{"-listen", "127.0.0.1:0", "nonsense"}, nil, io.Discard))
	require.Error(t, run(t.Context(), []string{"-listen", "127.0.0.1:0", "-http", "nowhere"}, nil, io.Discard))
}
