package redisvirtual

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/faulty"
	"github.com/joomcode/redispipe/internal/frames"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// silentAbout answers all but what names a client, which a virtual connection says on a socket of
// its client's own, as a handshake wants it. named is signalled when that is said.
func silentAbout(t *testing.T, named chan<- struct{}) string {
	server := faulty.NewScripted(t, faulty.ScriptedOpts{Raw: true, Handler: func(c *faulty.ScriptedConn, r faulty.ScriptedRequest) error {
		reply := "+OK\r\n"
		switch {
		case r.Cmd == "PING" && len(r.Args) > 0:
			reply = faulty.ScriptedBulk(r.Args[0])
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

// A server that stops answering while a client gets a socket of its own holds that for no longer
// than a handshake may take. Hooks are not told of what would have gone there.
func TestSilentSocket(t *testing.T) {
	conn, h := connect(t, silentAbout(t, make(chan struct{}, 2)), redisconn.Opts{DialTimeout: 50 * time.Millisecond}), &recorder{}
	for _, s := range []redis.Sender{conn, redis.WithHook(conn, h)} {
		v := over(t, s)
		v.say(words("CLIENT", "SETNAME", "me") + words("SUBSCRIBE", "x"))
		v.hear(frames.OK)
		_, err := v.r.ReadByte()
		require.Error(t, err)
	}
	require.Empty(t, h.saw(t))
}

// Close ends a Write that waits for a socket of the client's own.
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
