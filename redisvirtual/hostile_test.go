package redisvirtual

import (
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisvirtual/internal/proto"
)

// A malformed request gets the answer of a server, and ends the connection.
func TestHostile(t *testing.T) {
	for _, c := range []struct {
		input string
		own   bool // servers answer differently: they check neither the CRLF at the end of a line nor the bytes behind a zero; Valkey 9.1 accepts characters behind a quote, and Redis 8.6 waits for the end of a length
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

// An HTTP request ends the connection of its client, and no other.
func TestHTTP(t *testing.T) {
	conn := connect(t, server.Addr(), redisconn.Opts{})
	for _, input := range []string{"POST / HTTP/1.1\r\nHost: x\r\n\r\n", words("post", "x"), words("SET", "http", "v") + words("HOST:", "x")} {
		v := over(t, conn)
		v.say(input)
		_, err := io.ReadAll(v.r)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	}
	v := over(t, conn)
	v.say(words("MULTI") + words("POST", "x") + words("DISCARD"))
	v.hear(proto.OK + "-ERR Command not allowed inside a transaction\r\n" + proto.OK)
	require.Zero(t, conn.Stats().Disconnects)
}

// A client that writes far more than it reads gets all replies, in order, even if no queue has room
// for everything that it writes at once.
func TestReadsLate(t *testing.T) {
	drill.Rotate(t)
	const many = 100_000
	say := strings.Builder{}
	for i := range many {
		say.WriteString(words("ECHO", strconv.Itoa(i)))
	}
	for _, c := range []struct{ queue, piece int }{{0, say.Len()}, {100, say.Len()}, {100, 1000}} {
		v := over(t, connect(t, server.Addr(), redisconn.Opts{MaxRequests: c.queue}))
		for rest := say.String(); rest != ""; {
			n := min(c.piece, len(rest))
			v.say(rest[:n])
			rest = rest[n:]
		}
		for i := range many {
			n := strconv.Itoa(i)
			v.hear("$" + strconv.Itoa(len(n)) + "\r\n" + n + "\r\n")
		}
	}
}

// All methods of a connection may be called at the same time.
func TestAllAtOnce(t *testing.T) {
	conn := connect(t, server.Addr(), redisconn.Opts{MaxRequests: 4})
	for i := range 200 {
		v := Conn(conn)
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				for range 20 {
					if _, err := io.WriteString(v, words("SET", "all", "v")+words("MULTI")+words("GET", "all")+words("EXEC")); err != nil {
						return
					}
				}
			})
			all.Go(func() { _, _ = io.Copy(io.Discard, v) })
			all.Go(func() {
				for j := range 20 {
					_ = v.SetReadDeadline(time.Now().Add(time.Duration(j) * time.Millisecond))
					_ = v.SetWriteDeadline(time.Time{})
					_ = v.SetDeadline(time.Now().Add(time.Minute))
				}
			})
		}
		all.Go(func() {
			if i%3 == 0 {
				_, _ = io.WriteString(v, words("BLPOP", "none", "0"))
			}
			time.Sleep(time.Duration(i%5) * 100 * time.Microsecond)
			_ = v.Close()
		})
		all.Wait()
	}
	v := over(t, conn)
	v.say(words("ECHO", "after"))
	v.hear("$5\r\nafter\r\n")
	require.Zero(t, conn.Stats().Disconnects)
}

// An incomplete request does not affect other connections, no matter what length it announces.
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

// A request that Redis 8.10 answers twice uses a separate socket.
func TestAnsweredTwice(t *testing.T) {
	v := virtual(t)
	v.say(words("SET", "twice", "v", "IFDEQ", "no digest", "GET"))
	v.frame()
	require.NotNil(t, v.Conn.(*virtualConn).own)
}
