package redisvirtual

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What can't be read is answered as a server does, and ends the connection.
func TestHostile(t *testing.T) {
	for _, c := range []struct {
		input string
		own   bool // servers answer otherwise: they don't look whether lines end in CRLF, nor behind a zero; Valkey 9.1 takes what follows a quote, Redis 8.6 waits for the end of a length
	}{
		{input: "*1\r\n$600000000\r\n"}, {input: "*1\r\n$-1\r\n"}, {input: "*1\r\n$+1\r\n"}, {input: "*1\r\n$01\r\n"},
		{input: "*1\r\n$-0\r\n\r\n"}, {input: "*2\r\n$4\r\nECHO\r\n$-0\r\n\r\n"}, {input: "*-0\r\n"},
		{input: "*99999999999\r\n"}, {input: "*x\r\n"}, {input: "*3000000000\r\n"}, {input: "*1\r\n+PING\r\n"}, {input: "*1\r\n:1\r\n"},
		{input: "*" + strings.Repeat("1", 70000)}, {input: "*1\r\n$" + strings.Repeat("1", 70000), own: true}, {input: strings.Repeat("x", 70000)},
		{input: "set \"unbalanced\r\n"}, {input: "set 'a'b\r\n", own: true},
		{input: "*1\r\n$\x001\r\n", own: true}, {input: "*1\r\n$4\r\nPINGxx", own: true}, {input: "*1\n$4\r\nPING\r\n", own: true}, {input: "*1\r\n\x01\r\n", own: true},
	} {
		v := virtual(t)
		v.say(words("PING") + c.input)
		v.hear("+PONG\r\n")
		got := v.frame()
		require.True(t, strings.HasPrefix(got, "-ERR Protocol error: "), got)
		v.ends()
		_, err := v.Write([]byte("*1\r\n"))
		require.Error(t, err)
		if !c.own {
			s := socketOf(t)
			s.say(c.input)
			require.Equal(t, s.frame(), got, "%q", c.input[:min(len(c.input), 30)])
		}
	}
}

// Half a request harms nobody, however long it says that it is.
func TestHalf(t *testing.T) {
	v := virtual(t)
	v.say("*3\r\n$3\r\nSET\r\n$4\r\nhalf\r\n$500000000\r\nabc")
	other := over(t, connect(t, server.Addr(), defaults))
	other.say(words("GET", "half"))
	other.hear("$-1\r\n")
	require.NoError(t, v.Close())
	_, err := v.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, io.EOF)
}
