package redisvirtual

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/redisvirtual/internal/proto"
)

// silentAbout starts a server that answers every command except CLIENT SETNAME, which a virtual connection
// sends in the handshake of a separate socket. It signals named when it gets that command.
func silentAbout(t *testing.T, named chan<- struct{}) string {
	server := chaos.NewScripted(t, chaos.ScriptedOpts{Raw: true, Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		reply := "+OK\r\n"
		switch {
		case r.Cmd == "PING" && len(r.Args) > 0:
			reply = chaos.ScriptedBulk(r.Args[0])
		case r.Cmd == "PING":
			reply = "+PONG\r\n"
		case r.Cmd == "CLIENT" && r.Args[0] == "SETNAME":
			named <- struct{}{}
			return nil
		}
		_, err := io.WriteString(c, reply)
		return err
	}})
	return server.Addr()
}

// If a server stops answering during the handshake of a separate socket, the client waits no longer than
// DialTimeout. Hooks do not get the requests of the handshake.
func TestSilentSocket(t *testing.T) {
	conn, h := connect(t, silentAbout(t, make(chan struct{}, 2)), redisconn.Opts{DialTimeout: 50 * time.Millisecond}), &recorder{}
	for _, s := range []redis.Sender{conn, redis.WithHook(conn, h)} {
		v := over(t, s)
		v.say(words("CLIENT", "SETNAME", "me") + words("SUBSCRIBE", "x"))
		v.hear(proto.OK)
		_, err := v.r.ReadByte()
		require.Error(t, err)
	}
	require.Empty(t, h.saw(t))
}

// Close ends a Write that waits for a separate socket.
func TestCloseWhileSocketIsMade(t *testing.T) {
	named := make(chan struct{}, 1)
	v := over(t, connect(t, silentAbout(t, named), redisconn.Opts{}))
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = v.Write([]byte(words("CLIENT", "SETNAME", "me") + words("SUBSCRIBE", "x")))
	}()
	<-named
	require.NoError(t, v.Close())
	<-written
}

// A Write that waits for a separate socket, or for earlier replies, fails at its deadline, even if the deadline
// is set while it waits.
func TestDeadlineWhileSocketIsMade(t *testing.T) {
	waits := words("CLIENT", "SETNAME", "me") + words("SUBSCRIBE", "x")
	for _, say := range []string{waits, words("HANG") + waits} {
		for _, when := range []time.Duration{0, time.Millisecond} {
			v := over(t, connect(t, silentAbout(t, make(chan struct{}, 1)), redisconn.Opts{}))
			written := make(chan error)
			if when > 0 {
				require.NoError(t, v.SetWriteDeadline(time.Now().Add(when)))
			}
			go func() {
				_, err := v.Write([]byte(say))
				written <- err
			}()
			if when == 0 {
				time.Sleep(time.Millisecond) // so that Write is probably waiting when the deadline is set
				require.NoError(t, v.SetWriteDeadline(time.Unix(1, 0)))
			}
			err := <-written
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			require.Equal(t, say == waits, retried(err), "what hangs may have run")
		}
	}
}

// If a Write to a separate socket fails in the middle of a request, the server gets nothing after that part.
func TestSocketTakesPart(t *testing.T) {
	begun, full := make(chan struct{}), make(chan struct{})
	server := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		if r.Cmd == "MONITOR" {
			close(begun)
			<-full
			return nil
		}
		_, err := io.WriteString(c, "+OK\r\n")
		return err
	}})
	v := over(t, connect(t, server.Addr(), redisconn.Opts{}))
	defer close(full)
	written := make(chan error)
	go func() {
		_, err := v.Write([]byte(words("MONITOR") + words("SET", "part", strings.Repeat("x", 64<<20))))
		written <- err
	}()
	<-begun
	require.NoError(t, v.SetWriteDeadline(time.Unix(1, 0)))
	err := <-written
	require.Error(t, err)
	require.False(t, retried(err), "the first has run")
	_ = v.SetWriteDeadline(time.Time{})
	_, err = v.Write([]byte(words("SET", "part", "y")))
	require.Error(t, err)
}
