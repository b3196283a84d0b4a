package chaos

import (
	"bufio"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func dialScripted(t *testing.T, s *ScriptedServer) (net.Conn, *bufio.Reader) {
	conn, err := net.Dial("tcp", s.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	return conn, bufio.NewReader(conn)
}

func playScripted(t *testing.T, s *ScriptedServer, requests string) string {
	conn, in := dialScripted(t, s)
	_, err := io.WriteString(conn, requests)
	require.NoError(t, err)
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	got, err := io.ReadAll(in)
	require.NoError(t, err)
	return string(got)
}

func TestScriptedHandshake(t *testing.T) {
	s := NewScripted(t, ScriptedOpts{Password: "secret", Handler: ScriptedReplies("$5\r\nbroken", "")})
	got := playScripted(t, s, "PING\r\nPING nonce\r\nAUTH wrong\r\nAUTH user secret\r\nselect 3\r\nCLIENT SETNAME x\r\nGET a\r\nGET b\r\n")
	wrong := "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
	require.Equal(t, "+PONG\r\n$5\r\nnonce\r\n"+wrong+"+OK\r\n+OK\r\n+OK\r\n$5\r\nbroken", got)
	requests := s.Requests()
	require.Len(t, requests, 8)
	require.Equal(t, ScriptedRequest{Conn: 1, Index: 1, Cmd: "GET", Args: []string{"b"}}, requests[7])
	require.Equal(t, -1, requests[4].Index)

	require.Equal(t, wrong, playScripted(t, s, "HELLO 3 AUTH u bad\r\n"))
	require.Contains(t, playScripted(t, s, "HELLO 3 AUTH u secret\r\n"), "%7\r\n$6\r\nserver\r\n")
	require.Contains(t, playScripted(t, s, "*2\r\n$5\r\nHELLO\r\n$1\r\n2\r\nHELLO 2 AUTH u secret\r\n"), "*14\r\n")
}

func TestScriptedHandlers(t *testing.T) {
	for name, tt := range map[string]struct {
		handler ScriptedHandler
		want    string
	}{
		"default":  {nil, "+OK\r\n+OK\r\n"},
		"replies":  {ScriptedReplies(":1\r\n", ":2\r\n"), ":1\r\n:2\r\n"},
		"slow":     {ScriptedSlow("+slow\r\n", 2, time.Millisecond), "+slow\r\n+slow\r\n"},
		"huge":     {ScriptedHuge("$10\r\n", "abc", 10, "\r\n"), "$10\r\nabcabcabca\r\n$10\r\nabcabcabca\r\n"},
		"truncate": {ScriptedThenClose("$10\r\nab"), "$10\r\nab"},
		"echo":     {ScriptedEcho, "$1\r\nx\r\n+OK\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewScripted(t, ScriptedOpts{Handler: tt.handler})
			require.Equal(t, tt.want, playScripted(t, s, "ECHO x\r\n*1\r\n$3\r\nGET\r\n"))
		})
	}
}

func TestScriptedUnsolicited(t *testing.T) {
	s := NewScripted(t, ScriptedOpts{Raw: true, Greeting: []byte("+hello\r\n")})
	conn, in := dialScripted(t, s)
	line, err := in.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "+hello\r\n", line)
	s.Broadcast([]byte("+again\r\n"))
	line, err = in.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "+again\r\n", line)
	_, err = io.WriteString(conn, "PING\r\n")
	require.NoError(t, err)
	line, err = in.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "+OK\r\n", line, "Raw leaves PING to the handler")
	require.Equal(t, 1, s.Accepted())
}

func TestScriptedCloseInterruptsHandlers(t *testing.T) {
	s := NewScripted(t, ScriptedOpts{Handler: ScriptedSlow("+never\r\n", 1, time.Hour)})
	conn, in := dialScripted(t, s)
	_, err := io.WriteString(conn, "GET a\r\n")
	require.NoError(t, err)
	_, err = in.ReadByte()
	require.NoError(t, err)
	s.Close()
	_, err = in.ReadByte()
	require.Error(t, err)
}
