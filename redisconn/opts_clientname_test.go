package redisconn_test

import (
	"bytes"
	"log"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

func clientInfo(t *testing.T, conn *redisconn.Connection) string {
	t.Helper()
	info, err := redis.As[string](redis.Sync{S: conn}.Do("CLIENT LIST"))
	require.NoError(t, err)
	return info
}

func TestClientName(t *testing.T) {
	s := testbed.NewServer(t)
	for _, protocol := range []int{2, 3} {
		conn := connect(t, s.Addr(), redisconn.Opts{ClientName: "billing-7", Protocol: protocol, Logger: redisconn.NoopLogger{}})
		require.Equal(t, "billing-7", conn.ClientName())
		require.Equal(t, []byte("billing-7"), redis.Sync{S: conn}.Do("CLIENT GETNAME"))
		require.Equal(t, []byte("billing-7"), conn.DoStream(background, nil, "CLIENT GETNAME"))
	}
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	require.Nil(t, redis.Sync{S: conn}.Do("CLIENT GETNAME"))
	for _, bad := range []string{"a b", "a\n", "a\x00", "ä", " ", "a\x7f"} {
		_, err := redisconn.Connect(background, s.Addr(), redisconn.Opts{ClientName: bad})
		e := requireType(t, err, redisconn.ErrClientName)
		require.True(t, e.HasTrait(redisconn.ErrTraitInitPermanent))
	}
}

// Servers from 7.2 on show the library and its version. Older ones refuse the command, and the
// connection works nevertheless.
func TestClientInfo(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if info := clientInfo(t, conn); bytes.Contains([]byte(info), []byte("lib-name=")) {
		require.Regexp(t, `lib-name=redispipe lib-ver=\S+`, info)
	}
	fake := chaos.NewScripted(t, chaos.ScriptedOpts{})
	connect(t, fake.Addr(), redisconn.Opts{ClientName: "billing", Logger: redisconn.NoopLogger{}})
	connect(t, fake.Addr(), redisconn.Opts{NoClientInfo: true, Logger: redisconn.NoopLogger{}})
	var said [3][][]string
	for _, r := range fake.Requests() {
		if r.Cmd == "PING" {
			r.Args = nil // the argument of PING is a nonce
		}
		said[r.Conn] = append(said[r.Conn], append([]string{r.Cmd}, r.Args...))
	}
	require.Equal(t, [][]string{
		{"PING"}, {"CLIENT", "SETNAME", "billing"},
		{"CLIENT", "SETINFO", "LIB-NAME", "redispipe"}, {"CLIENT", "SETINFO", "LIB-VER", "(devel)"},
	}, said[1][:4])
	require.Equal(t, [][]string{{"PING"}}, said[2][:1])
	for _, more := range said[2] {
		require.NotEqual(t, "CLIENT", more[0])
	}
}

// A user that may not set a name connects without one.
func TestClientNameIsNotPermitted(t *testing.T) {
	s := testbed.NewServer(t, testbed.Options{ACL: []string{"visits on >" + canary + " ~* -@all +get"}})
	conn := connect(t, s.Addr(), redisconn.Opts{Username: "visits", Password: canary, ClientName: "visits", Logger: redisconn.NoopLogger{}})
	require.Nil(t, redis.Sync{S: conn}.Do("GET", "a"))
}

// A strange answer to CLIENT SETNAME is an error.
func TestClientNameIsAnsweredStrangely(t *testing.T) {
	s := chaos.NewScripted(t, chaos.ScriptedOpts{Raw: true, Handler: chaos.ScriptedReplies("+PONG\r\n", "$5\r\nvalue\r\n")})
	refused(t, s.Addr(), redisconn.Opts{ClientName: "billing"}, redisconn.ErrInit)
}

func TestDefaultLoggerShowsTheClientName(t *testing.T) {
	var out bytes.Buffer
	old := log.Writer()
	log.SetOutput(&out)
	defer log.SetOutput(old)
	s := chaos.NewScripted(t, chaos.ScriptedOpts{})
	conn := connect(t, s.Addr(), redisconn.Opts{ClientName: "billing", Logger: redisconn.NoopLogger{}})
	redisconn.DefaultLogger{}.Report(conn, redisconn.LogConnecting{})
	require.Contains(t, out.String(), s.Addr()+" (billing): connecting")
}
