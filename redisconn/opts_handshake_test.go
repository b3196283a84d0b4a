package redisconn_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// canary is a password that must not appear in any error or log.
const canary = "canary-3f9c"

// refused requires that Connect fails permanently, with an error of type want, and that neither the
// error nor a log shows a secret.
func refused(t *testing.T, addr string, opts redisconn.Opts, want *errorx.Type) *errorx.Error {
	t.Helper()
	log := &recorder{}
	opts.Logger, opts.IOTimeout = log, patience
	conn, err := redisconn.Connect(background, addr, opts)
	if err == nil {
		conn.Close()
	}
	e := requireNotSent(t, err, want)
	require.True(t, e.HasTrait(redisconn.ErrTraitInitPermanent), "%v", err)
	eventually(t, "the end", func() bool { return log.Count("ContextClosed") == 1 })
	requireSecret(t, err)
	for _, event := range log.Events() {
		requireSecret(t, event)
	}
	return e
}

// requireSecret fails the test if v shows the canary.
func requireSecret(t *testing.T, v any) {
	t.Helper()
	for _, format := range []string{"%v", "%+v"} {
		require.NotContains(t, fmt.Sprintf(format, v), canary)
	}
	if failed, ok := v.(redisconn.LogConnectFailed); ok {
		requireSecret(t, failed.Error)
	}
}

func TestPassword(t *testing.T) {
	s := testbed.NewServer(t, testbed.Options{
		Password: canary,
		ACL:      []string{"alice on >" + canary + " ~* &* +@all", "mute on >" + canary + " ~* +@all -ping"},
	})
	for _, protocol := range []int{0, 2, 3} {
		good := func(t *testing.T, username, whoami string) {
			conn := connect(t, s.Addr(), redisconn.Opts{Username: username, Password: canary, Protocol: protocol, Logger: redisconn.NoopLogger{}})
			require.Equal(t, []byte(whoami), redis.Sync{S: conn}.Do("ACL WHOAMI"))
		}
		t.Run(fmt.Sprintf("protocol %d", protocol), func(t *testing.T) {
			t.Run("default user", func(t *testing.T) { good(t, "", "default") })
			t.Run("default user, named", func(t *testing.T) { good(t, "default", "default") })
			t.Run("other user", func(t *testing.T) { good(t, "alice", "alice") })
			t.Run("user that may not PING", func(t *testing.T) { good(t, "mute", "mute") })
			t.Run("none", func(t *testing.T) {
				refused(t, s.Addr(), redisconn.Opts{Protocol: protocol}, redisconn.ErrAuth)
			})
			t.Run("wrong", func(t *testing.T) {
				refused(t, s.Addr(), redisconn.Opts{Password: canary + "!", Protocol: protocol}, redisconn.ErrAuth)
			})
			t.Run("wrong user", func(t *testing.T) {
				refused(t, s.Addr(), redisconn.Opts{Username: "bob", Password: canary, Protocol: protocol}, redisconn.ErrAuth)
			})
		})
	}
}

// Known texts of servers are shown unchanged, even if the password is a part of them.
func TestRefusalsAreShown(t *testing.T) {
	t.Parallel()
	for _, password := range []string{"p", "password", "pair"} {
		locked := testbed.NewServer(t, testbed.Options{
			Password: password + "!", ACL: []string{"app on >" + password + " ~* +@all -ping -select"},
		})
		open := testbed.NewServer(t)
		for _, protocol := range []int{2, 3} {
			for name, c := range map[string]struct {
				addr string
				opts redisconn.Opts
			}{
				"WRONGPASS invalid username-password pair or user is disabled.": {locked.Addr(), redisconn.Opts{Password: password}},
				"NOPERM":                       {locked.Addr(), redisconn.Opts{Username: "app", Password: password, Integrity: true}},
				"NOPERM ":                      {locked.Addr(), redisconn.Opts{Username: "app", Password: password, DB: 1}},
				"ERR DB index is out of range": {locked.Addr(), redisconn.Opts{Password: password + "!", DB: 99}},
				"called without any password configured for the default user.": {open.Addr(), redisconn.Opts{Password: password, Protocol: 2}},
			} {
				c.opts.Protocol = max(protocol, c.opts.Protocol)
				c.opts.Logger, c.opts.ReconnectPause = redisconn.NoopLogger{}, -1
				_, err := redisconn.Connect(background, c.addr, c.opts)
				if c.addr == open.Addr() && protocol == 3 { // this server accepts HELLO with the credentials
					continue
				}
				require.ErrorContains(t, err, name)
				require.NotContains(t, err.Error(), "hidden")
			}
		}
	}
}

// A server that lacks a command quotes its arguments. The error does not show the quoted password.
func TestPasswordIsNotQuoted(t *testing.T) {
	s := testbed.NewServer(t, testbed.Options{Config: []string{`rename-command AUTH ""`, `rename-command HELLO ""`}})
	for _, protocol := range []int{2, 3} {
		opts := redisconn.Opts{Password: canary, Username: "alice", Protocol: protocol, ReconnectPause: -1}
		log := &recorder{}
		opts.Logger = log
		_, err := redisconn.Connect(background, s.Addr(), opts)
		e := requireNotSent(t, err, map[int]*errorx.Type{2: redisconn.ErrAuth, 3: redisconn.ErrInit}[protocol])
		require.True(t, e.HasTrait(redisconn.ErrTraitInitPermanent))
		requireSecret(t, err)
		require.ErrorContains(t, err, "unknown command")
		eventually(t, "the end", func() bool { return log.Count("ContextClosed") == 1 })
		for _, event := range log.Events() {
			requireSecret(t, event)
		}
	}
}

// If a server puts the password into its error, the client's error does not show it.
func TestPasswordIsNotEchoed(t *testing.T) {
	for _, quoted := range []string{"WRONGPASS invalid %s", "DENIED command 'auth' '%s'", "ERR %s %[1]s"} {
		s := chaos.NewScripted(t, chaos.ScriptedOpts{Raw: true, Handler: chaos.ScriptedReplies(
			fmt.Sprintf("-"+quoted+"\r\n", canary))})
		for _, protocol := range []int{2, 3} {
			log := &recorder{}
			_, err := redisconn.Connect(background, s.Addr(),
				redisconn.Opts{Password: canary, Protocol: protocol, ReconnectPause: -1, Logger: log})
			requireSecret(t, err)
			require.ErrorContains(t, err, "(hidden: ")
			eventually(t, "the end", func() bool { return log.Count("ContextClosed") == 1 })
			for _, event := range log.Events() {
				requireSecret(t, event)
			}
		}
	}
}

func TestDB(t *testing.T) {
	t.Parallel()
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{DB: 3, Logger: redisconn.NoopLogger{}})
	require.Equal(t, "OK", redis.Sync{S: conn}.Do("SET", "a", 1))
	require.NoError(t, s.Restart())
	eventually(t, "connected again", func() bool { return conn.Ping() == nil })
	require.Equal(t, "OK", redis.Sync{S: conn}.Do("SET", "a", 1))
	res := s.Do("INFO", "keyspace")
	require.Contains(t, string(res.([]byte)), "db3:keys=1")
	require.NotContains(t, string(res.([]byte)), "db0:")

	for _, db := range []int{16, -1, 1 << 30} {
		err := refused(t, s.Addr(), redisconn.Opts{DB: db}, redisconn.ErrInit)
		got, _ := err.Property(redisconn.EKDb)
		require.Equal(t, db, got)
	}
}

func TestReadOnly(t *testing.T) {
	// Servers outside a cluster return an error, except Valkey 8, which accepts the command.
	outside := chaos.NewScripted(t, chaos.ScriptedOpts{
		Raw: true, Handler: chaos.ScriptedReplies("-ERR This instance has cluster support disabled\r\n", "+PONG\r\n"),
	})
	refused(t, outside.Addr(), redisconn.Opts{ReadOnly: true}, redisconn.ErrInit)

	var said []string
	fake := chaos.NewScripted(t, chaos.ScriptedOpts{})
	connect(t, fake.Addr(), redisconn.Opts{ReadOnly: true, DB: 1, Password: canary, Logger: redisconn.NoopLogger{}})
	for _, r := range fake.Requests() {
		said = append(said, r.Cmd)
	}
	require.Equal(t, []string{"AUTH", "SELECT", "READONLY", "PING"}, said[:4])
}

func TestProtocol3(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Protocol: 3, DB: 1, Logger: redisconn.NoopLogger{}})
	sync := redis.Sync{S: conn}
	require.Equal(t, int64(2), sync.Do("HSET", "hash", "a", 1, "b", 2))
	require.Equal(t, map[string]any{"a": []byte("1"), "b": []byte("2")}, sync.Do("HGETALL", "hash"))
	require.Equal(t, int64(1), sync.Do("ZADD", "zset", 1.5, "a"))
	require.Equal(t, 1.5, sync.Do("ZSCORE", "zset", "a"))
	require.Nil(t, sync.Do("GET", "missing"))

	for _, protocol := range []int{1, 4, -1} {
		_, err := redisconn.Connect(background, s.Addr(), redisconn.Opts{Protocol: protocol})
		require.True(t, redis.ErrOpts.IsNamespaceOf(redis.AsErrorx(err).Type()), "%v", err)
	}
}

func TestHandshakeWithStrangers(t *testing.T) {
	for name, c := range map[string]struct {
		reply     string
		want      *errorx.Type
		permanent bool
	}{
		"HTTP":              {"HTTP/1.1 400 Bad Request\r\n\r\n", redisconn.ErrInit, true},
		"SSH":               {"SSH-2.0-OpenSSH_9.0\r\n", redisconn.ErrInit, true},
		"SMTP":              {"220 mail.example ESMTP\r\n", redisconn.ErrInit, true},
		"zeros":             {strings.Repeat("\x00", 1<<18), redisconn.ErrInit, true},
		"huge":              {"$9223372036854775807\r\n", redisconn.ErrInit, true},
		"deep":              {strings.Repeat("*1\r\n", 1000), redisconn.ErrInit, true},
		"other answer":      {"+OK\r\n", redisconn.ErrInit, true},
		"more than asked":   {"+PONG\r\n+PONG\r\n", redisconn.ErrInit, true},
		"error":             {"-ERR not today\r\n", redisconn.ErrInit, true},
		"password":          {"-NOAUTH Authentication required.\r\n", redisconn.ErrAuth, true},
		"loading":           {"-LOADING Redis is loading the dataset in memory\r\n", redisconn.ErrConnSetup, false},
		"busy":              {"-BUSY Redis is busy running a script.\r\n", redisconn.ErrConnSetup, false},
		"master down":       {"-MASTERDOWN Link with MASTER is down\r\n", redisconn.ErrConnSetup, false},
		"clients":           {"-ERR max number of clients reached\r\n", redisconn.ErrConnSetup, false},
		"closes":            {"", redisconn.ErrConnSetup, false},
		"closes in a reply": {"+PO", redisconn.ErrConnSetup, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := chaos.NewScripted(t, chaos.ScriptedOpts{Raw: true, Handler: chaos.ScriptedThenClose(c.reply)})
			log := &recorder{}
			conn, err := redisconn.Connect(background, s.Addr(), redisconn.Opts{Logger: log})
			if !c.permanent {
				require.NoError(t, err, "it goes on dialing")
				defer conn.Close()
				err = conntest.Event[redisconn.LogConnectFailed](log).Error
			}
			e := requireNotSent(t, err, c.want)
			require.Equal(t, c.permanent, e.HasTrait(redisconn.ErrTraitInitPermanent))
		})
	}
}

// A server that is loading is dialed again until it accepts the handshake.
func TestHandshakeWhileLoading(t *testing.T) {
	s := chaos.NewScripted(t, chaos.ScriptedOpts{Raw: true, Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		reply := "+PONG\r\n"
		switch {
		case r.Conn < 3:
			reply = "-LOADING Redis is loading the dataset in memory\r\n"
		case len(r.Args) > 0:
			reply = bulk(r.Args[0])
		}
		_, err := c.Write([]byte(reply))
		return err
	}})
	log := &recorder{}
	connect(t, s.Addr(), redisconn.Opts{Logger: log, ReconnectPause: time.Millisecond, NoClientInfo: true})
	eventually(t, "connected", func() bool { return log.Count("Connected") > 0 })
	require.Equal(t, []string{"Connecting", "ConnectFailed", "Connecting", "ConnectFailed", "Connecting", "Connected"}, log.Names())
}

// A master that can't save to its disk answers PING with an error, but still answers reads.
func TestDiskFailure(t *testing.T) {
	t.Parallel()
	s := testbed.NewServer(t)
	dir := string(s.Do("CONFIG GET", "dir").([]any)[1].([]byte))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "dump.rdb", "full"), 0o700))
	require.Equal(t, "OK", s.Do("CONFIG SET", "save", "10000 1"))
	require.Equal(t, "OK", s.Do("SET", "a", 1))
	require.NoError(t, redis.AsError(s.Do("BGSAVE")))
	eventually(t, "PING fails", func() bool { return redis.AsError(s.Do("PING")) != nil })

	log := &recorder{}
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: log, IOTimeout: -1})
	require.True(t, conn.ConnectedNow())
	before := conn.Stats().WrittenRequests
	eventually(t, "the second heartbeat", func() bool { return conn.Stats().WrittenRequests >= before+2 })
	require.Equal(t, []byte("1"), redis.Sync{S: conn}.Do("GET", "a"), "it is answered behind the heartbeat")
	require.Zero(t, log.Count("Disconnected"))

	err := redis.Err(redis.Sync{S: conn}.Do("SET", "a", 2))
	require.ErrorContains(t, err, "MISCONF")
	require.Equal(t, redis.OutcomeRefused, redis.OutcomeOf(err))
	require.False(t, redis.SafeToRetry(err), "somebody has to mend the disk")
	another := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	require.Equal(t, []byte("1"), redis.Sync{S: another}.Do("GET", "a"), "the handshake accepts it")
}

// While a replica loads its data set, it refuses requests and handshakes.
func TestLoading(t *testing.T) {
	t.Parallel()
	master, replica := testbed.NewServer(t), testbed.NewServer(t)
	require.NoError(t, redis.Err(master.Do("EVAL", "for i = 1, 20000 do redis.call('SET', 'key:' .. i, string.rep('x', 100)) end", 0)))
	for option, value := range map[string]any{"key-load-delay": 500, "loading-process-events-interval-bytes": 1024} {
		require.Equal(t, "OK", replica.Do("CONFIG SET", option, value))
	}
	conn := connect(t, replica.Addr(), redisconn.Opts{IOTimeout: patience, Logger: redisconn.NoopLogger{}})
	host, port, err := net.SplitHostPort(master.Addr())
	require.NoError(t, err)
	require.Equal(t, "OK", replica.Do("REPLICAOF", host, port))
	eventually(t, "the refusal", func() bool {
		err = redis.Err(redis.Sync{S: conn}.Do("GET", "key:1"))
		return err != nil
	})
	requireType(t, err, redis.ErrLoading)
	require.Equal(t, redis.OutcomeRefused, redis.OutcomeOf(err))
	require.True(t, redis.SafeToRetry(err))

	_, err = redisconn.Connect(background, replica.Addr(), redisconn.Opts{IOTimeout: patience, ReconnectPause: -1, Logger: redisconn.NoopLogger{}})
	requireNotSent(t, err, redisconn.ErrConnSetup)
	require.ErrorContains(t, err, "LOADING")
	require.True(t, redis.SafeToRetry(err))

	require.Equal(t, "OK", replica.Do("CONFIG SET", "key-load-delay", 0))
	eventually(t, "the value", func() bool { return redis.Err(redis.Sync{S: conn}.Do("GET", "key:1")) == nil })
}

// A server without HELLO quotes the command's arguments, and another program may answer anything.
// No handshake error contains the password, nor do its cause and properties.
func TestHandshakeErrorsHoldNoPassword(t *testing.T) {
	const password = "correct-horse-battery"
	for name, reply := range map[string]string{
		"no HELLO":  "-ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `default`, `" + password + "`, \r\n",
		"malformed": "?" + password + "\r\n",
	} {
		server := chaos.NewScripted(t, chaos.ScriptedOpts{Raw: true, Handler: chaos.ScriptedReplies(reply)})
		_, err := redisconn.Connect(background, server.Addr(), redisconn.Opts{
			Protocol: 3, Password: password, Logger: redisconn.NoopLogger{}, ReconnectPause: -1,
		})
		require.Error(t, err, name)
		for failure := redis.AsErrorx(err); failure != nil; failure = redis.AsErrorx(failure.Cause()) {
			require.NotContains(t, failure.Message(), password, name)
			for _, key := range []errorx.Property{redis.EKText, redis.EKLine} {
				if of, ok := failure.Property(key); ok {
					require.NotContains(t, fmt.Sprintf("%s", of), password, name)
				}
			}
		}
	}
}
