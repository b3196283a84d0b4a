package redisvirtual

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisvirtual/internal/proto"
	"github.com/joomcode/redispipe/testbed"
)

// HELLO returns the protocol of the shared connection. It refuses other protocols, like a server
// that does not know them.
func TestHello(t *testing.T) {
	two, three := connect(t, server.Addr(), defaults), connect(t, server.Addr(), redisconn.Opts{Protocol: 3})
	for _, c := range []struct {
		conn        *redisconn.Connection
		say, begins string
	}{
		{two, words("HELLO"), "*14\r\n$6\r\nserver\r\n"}, {two, words("HELLO", "2"), "*14\r\n$6\r\nserver\r\n"},
		{two, words("HELLO", "3"), "-ERR unknown command 'HELLO'"}, {two, words("HELLO", "4", "NOISE"), "-NOPROTO"}, {two, words("HELLO", "0"), "-NOPROTO"},
		{two, words("HELLO", "x"), "-ERR Protocol version is not an integer"}, {two, words("HELLO", "2", "NOISE"), "-ERR Syntax error in HELLO"},
		{two, words("HELLO", "2", "SETNAME", "a b"), "-ERR Client names cannot contain spaces"},
		{three, words("HELLO", "3", "SETNAME", "me"), "%7\r\n$6\r\nserver\r\n"},
		{three, words("HELLO", "2"), "*14\r\n"}, {three, words("PING"), "+PONG\r\n"}, {three, words("HGETALL", "none"), "*0\r\n"},
	} {
		v := over(t, c.conn)
		v.say(c.say)
		require.True(t, strings.HasPrefix(v.frame(), c.begins), c.say)
		_ = v.Close()
	}
}

// A client that speaks the protocol of the shared connection gets the replies unchanged; any other
// client gets its own socket.
func TestProtocol(t *testing.T) {
	conn := connect(t, server.Addr(), redisconn.Opts{Protocol: 3})
	v := over(t, conn)
	v.say(words("HELLO", "3"))
	v.frame()
	v.say(words("DEL", "hash") + words("HSET", "hash", "a", "1") + words("HGETALL", "hash") + words("GET", "none") + words("ZSCORE", "none", "a"))
	v.hear(":0\r\n:1\r\n%1\r\n$1\r\na\r\n$1\r\n1\r\n_\r\n_\r\n")
	old := over(t, conn)
	old.say(words("HGETALL", "hash") + words("GET", "none"))
	old.hear("*2\r\n$1\r\na\r\n$1\r\n1\r\n$-1\r\n")
	v.say(words("RESET") + words("GET", "none") + words("CLIENT", "GETNAME"))
	v.hear("+RESET\r\n$-1\r\n$-1\r\n")
}

// A client with the credentials of the shared connection uses it; one with other credentials gets
// its own socket.
func TestAuth(t *testing.T) {
	admin := redis.Sync{S: connect(t, server.Addr(), defaults)}
	require.Equal(t, "OK", admin.Do("ACL", "SETUSER", "shared", "on", ">secret", "~*", "+@all"))
	require.Equal(t, "OK", admin.Do("ACL", "SETUSER", "other", "on", ">word", "~*", "+@all"))
	static := redisconn.Opts{Username: "shared", Password: "secret"}
	provided := redisconn.Opts{CredentialsProvider: func(context.Context) (redisconn.Credentials, error) {
		return redisconn.Credentials{Username: "shared", Password: "secret"}, nil
	}}
	for _, opts := range []redisconn.Opts{static, provided} {
		conn := connect(t, server.Addr(), opts)
		v := over(t, conn)
		v.say(words("AUTH", "shared", "secret") + words("ACL", "WHOAMI"))
		v.hear(proto.OK + "$6\r\nshared\r\n")
		require.Nil(t, v.Conn.(*virtualConn).own)
		v = over(t, conn)
		v.say(words("HELLO", "2", "AUTH", "shared", "secret", "SETNAME", "me") + words("CLIENT", "GETNAME"))
		v.frame()
		v.hear("$2\r\nme\r\n")
		require.Nil(t, v.Conn.(*virtualConn).own)
		v = over(t, conn)
		v.say(words("CLIENT", "SETNAME", "me") + words("AUTH", "other", "word") + words("ACL", "WHOAMI") + words("CLIENT", "GETNAME"))
		v.hear(proto.OK + proto.OK + "$5\r\nother\r\n$2\r\nme\r\n")
		v = over(t, conn)
		v.say(words("AUTH", "shared", "wrong"))
		require.True(t, strings.HasPrefix(v.frame(), "-WRONGPASS"))
		v.say(words("RESET") + words("PING") + words("AUTH", "shared", "secret") + words("PING"))
		v.hear(proto.Reset + "-NOAUTH Authentication required.\r\n" + proto.OK + "+PONG\r\n")
		require.Nil(t, v.Conn.(*virtualConn).own)
	}
}

// A client that gives other credentials never acts as the shared connection's user, whether or not
// the server accepts them. The credentials of the shared connection are not sent on the client's
// socket.
func TestAuthAsOther(t *testing.T) {
	server := testbed.NewServer(t, testbed.Options{Password: "secret"})
	var mu sync.Mutex
	var sockets []*spy
	for _, protocol := range []int{2, 3} {
		conn := connect(t, server.Addr(), redisconn.Opts{Protocol: protocol, Password: "secret", DB: 2, Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			mu.Lock()
			defer mu.Unlock()
			sockets = append(sockets, &spy{Conn: c})
			return sockets[len(sockets)-1], err
		}})
		admin := redis.Sync{S: conn}
		require.Equal(t, "OK", admin.Do("ACL", "SETUSER", "other", "on", ">word", "~*", "+@all"))
		require.Equal(t, "OK", admin.Do("SET", "mine", "two"))
		shared := len(sockets)
		for _, c := range []struct{ say, answer, then string }{
			{words("AUTH", "other", "word"), proto.OK, "$5\r\nother\r\n"},
			{words("AUTH", "other", "wrong"), "-WRONGPASS ", "-NOAUTH "},
			{words("AUTH", "one", "two", "three"), "-ERR syntax error", "-NOAUTH "},
			{words("HELLO", "2", "AUTH", "other", "word", "SETNAME", "b"), "*14", "$5\r\nother\r\n"},
			{words("HELLO", "2", "AUTH", "other", "wrong"), "-WRONGPASS ", "-NOAUTH "},
		} {
			v := over(t, conn)
			v.say(words("CLIENT", "SETNAME", "a"))
			v.hear(proto.OK)
			v.say(c.say + words("ACL", "WHOAMI") + words("GET", "mine"))
			require.Contains(t, v.frame(), c.answer)
			require.Contains(t, v.frame(), c.then)
			if c.then[0] == '-' {
				require.Contains(t, v.frame(), "-NOAUTH ")
				v.say(words("CLIENT", "SETNAME", "b") + words("HELLO", "2") + words("AUTH", "other", "word") + words("GET", "mine"))
				v.hear("-NOAUTH Authentication required.\r\n-NOAUTH Authentication required.\r\n" + proto.OK)
			}
			v.hear("$3\r\ntwo\r\n")
			v.say(words("CLIENT", "GETNAME"))
			require.Contains(t, "$1\r\na\r\n$1\r\nb\r\n", v.frame())
		}
		require.Len(t, sockets, shared+8, "three were refused first")
		for _, s := range sockets[shared:] {
			require.NotContains(t, s.said(), "secret")
		}
		sockets = nil
	}
}

// spy records the data that is written to a socket.
type spy struct {
	net.Conn
	mu  sync.Mutex
	out []byte
}

func (s *spy) Write(p []byte) (int, error) {
	s.mu.Lock()
	s.out = append(s.out, p...)
	s.mu.Unlock()
	return s.Conn.Write(p)
}

func (s *spy) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.out)
}

type virtualConn = conn

// A client that selects another database uses that database.
func TestDatabase(t *testing.T) {
	conn := connect(t, server.Addr(), redisconn.Opts{DB: 3})
	v := over(t, conn)
	v.say(words("SELECT", "3") + words("SET", "db", "three") + words("SELECT", "4") + words("GET", "db") + words("SELECT", "3") + words("GET", "db"))
	v.hear(proto.OK + proto.OK + proto.OK + "$-1\r\n" + proto.OK + "$5\r\nthree\r\n")
	w := over(t, conn)
	w.say(words("MULTI") + words("SELECT", "4") + words("SELECT", "3") + words("EXEC"))
	w.hear(proto.OK + "-ERR Command not allowed inside a transaction\r\n" + proto.Queued + "-EXECABORT Transaction discarded because of previous errors.\r\n")
	w.say(words("GET", "db"))
	w.hear("$5\r\nthree\r\n")
}

// Commands about the client's own connection do not affect other clients.
func TestClient(t *testing.T) {
	conn := connect(t, server.Addr(), redisconn.Opts{ClientName: "shared"})
	v, w := over(t, conn), over(t, conn)
	v.say(words("CLIENT", "SETNAME", "mine") + words("CLIENT", "SETINFO", "LIB-NAME", "x") + words("CLIENT", "GETNAME"))
	v.hear(proto.OK + proto.OK + "$4\r\nmine\r\n")
	w.say(words("CLIENT", "GETNAME") + words("CLIENT", "MAINT_NOTIFICATIONS", "ON"))
	w.hear("$-1\r\n-ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP.\r\n")
	w.say(words("MULTI") + words("CLIENT", "GETNAME") + words("DISCARD"))
	w.hear(proto.OK + "-ERR Command not allowed inside a transaction\r\n" + proto.OK)
	require.Equal(t, []byte("shared"), redis.Sync{S: conn}.Do("CLIENT", "GETNAME"))
	v.say(words("CLIENT", "REPLY", "OFF") + words("PING") + words("CLIENT", "REPLY", "ON"))
	v.hear(proto.OK)
	w.say(words("CLIENT", "TRACKING", "ON", "BCAST") + words("PING"))
	w.hear(proto.OK + "+PONG\r\n")
}

// Pushes arrive on a separate socket of the client.
func TestSubscribe(t *testing.T) {
	conn := connect(t, server.Addr(), defaults)
	v, w := over(t, conn), over(t, conn)
	v.say(words("PING") + words("SUBSCRIBE", "news"))
	v.hear("+PONG\r\n*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n")
	w.say(words("PUBLISH", "news", "hello"))
	w.hear(":1\r\n")
	v.hear("*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nhello\r\n")
	v.say(words("UNSUBSCRIBE") + words("GET", "none"))
	v.hear("*3\r\n$11\r\nunsubscribe\r\n$4\r\nnews\r\n:0\r\n$-1\r\n")
	w.say(words("MONITOR"))
	w.hear(proto.OK)
	require.NoError(t, w.SetReadDeadline(time.Now()))
	for { // read until the deadline
		if _, err := w.r.ReadByte(); err != nil {
			require.True(t, retried(err))
			break
		}
	}
}
