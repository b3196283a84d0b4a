package torture

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

const canaryValue = "canary-value-55e1c0"

// overheard collects everything that may end up in a log: every result in every form.
type overheard struct {
	t *testing.T
}

func (o overheard) hear(res any) {
	o.t.Helper()
	err := redis.AsError(res)
	if err == nil {
		return
	}
	text := fmt.Sprintf("%v %+v %s %q", err, err, err, err)
	for e := err; e != nil; e = errors.Unwrap(e) {
		text += fmt.Sprintf("%v %+v", e, e)
	}
	o.check(text)
}

func (o overheard) check(text string) {
	o.t.Helper()
	for _, secret := range []string{canaryPassword, canaryValue} {
		if at := strings.Index(text, secret); at >= 0 {
			o.t.Fatalf("told: …%s…", text[max(0, at-300):min(len(text), at+len(secret)+50)])
		}
	}
}

// T21: a canary password and canary values are used in every kind of failure. No error, log or
// panic shows them.
func TestT21Secrets(t *testing.T) {
	beside(t)
	o := overheard{t}
	server := testbed.NewServer(t, testbed.Options{Password: canaryPassword, ACL: []string{
		"limited on >" + canaryPassword + " ~allowed:* +get +ping +hello",
	}})
	opts := fast()
	opts.Password = canaryPassword
	r := newRig(t, RigOpts{Server: server, Conn: opts})
	sync := redis.Sync{S: r.Conn}

	for _, req := range []redis.Request{
		redis.Req("SET", "a", struct{ v string }{canaryValue}),
		redis.Req("SET", "a", []string{canaryValue}),
		redis.Req("NOSUCHCOMMAND", canaryValue, canaryValue),
		redis.Req("AUTH", canaryPassword),
		redis.Req("HELLO", 3, "AUTH", "default", canaryPassword),
		redis.Req("BLPOP", canaryValue, canaryValue),
		redis.Req("SET", "a", canaryValue, "NOSUCHOPTION", canaryValue),
		redis.Req("CLIENT NOSUCH", canaryValue),
		redis.Req("CONFIG", "NOSUCH", canaryValue),
		redis.Req("XADD", "stream", canaryValue, canaryValue),
		redis.Req("GET", canaryValue, canaryValue),
		redis.Req("", canaryValue),
		redis.Req("A B C", canaryValue),
	} {
		o.hear(sync.Send(req))
		for _, res := range sync.SendMany([]redis.Request{redis.Req("SET", "b", canaryValue), req}) {
			o.hear(res)
		}
		_, err := sync.SendTransaction([]redis.Request{redis.Req("SET", "b", canaryValue), req})
		o.hear(err)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		o.hear(redis.SyncCtx{S: r.Conn}.Send(ctx, req))
	}

	set := func(i int) { o.hear(sync.Do("SET", fmt.Sprint("k", i), canaryValue)) }
	for i, do := range []chaos.Action{chaos.Reset, chaos.Cut, chaos.Swallow, chaos.Insert, chaos.Flip, chaos.HalfClose} {
		for _, on := range []chaos.Direction{chaos.Requests, chaos.Replies} {
			if on == chaos.Requests && (do == chaos.Insert || do == chaos.Flip) {
				continue // the server would treat it as a command and quote it in its error
			}
			r.Proxy.Arm(chaos.Fault{Do: do, On: on, At: chaos.AtRequestID(canaryValue), Bytes: []byte("?" + canaryValue + "\r\n")})
			set(i)
			r.Proxy.Heal()
			_, err := r.WaitConnected(patience)
			require.NoError(t, err)
		}
	}
	require.NoError(t, r.Server.Pause())
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	o.hear(redis.SyncCtx{S: r.Conn}.Do(ctx, "SET", "k", canaryValue))
	cancel()
	set(1)
	require.NoError(t, r.Server.Resume())
	_, err := r.WaitConnected(patience)
	require.NoError(t, err)

	r.Conn.Send(redis.Req("SET", "k", canaryValue), redis.FuncFuture(func(any, uint64) { panic("the callback's own") }), 0)
	require.Eventually(t, func() bool { return r.Events.Count("LogFuturePanic") == 1 }, patience, time.Millisecond)
	hearRefusals(t, o, server, r.Events)
	r.Conn.Close()
	set(2)
	require.Eventually(t, func() bool { return r.Events.Count("LogContextClosed") > 0 }, patience, time.Millisecond)
	o.check(r.Events.Text())
	o.check(fmt.Sprintf("%v %+v %s", r.Conn, r.Conn.Handle(), r.Conn.String()))
	require.Positive(t, r.Events.Count("LogDisconnected"))
}

// hearRefusals makes connections with secrets that servers refuse.
func hearRefusals(t *testing.T, o overheard, server *testbed.Server, events *Events) {
	for name, opts := range map[string]redisconn.Opts{
		"wrong password": {Password: canaryPassword + "x"},
		"wrong user":     {Username: "nobody", Password: canaryPassword},
		"RESP3":          {Protocol: 3, Username: "nobody", Password: canaryPassword},
		"wrong DB":       {Password: canaryPassword, DB: 1000},
		"limited user":   {Username: "limited", Password: canaryPassword, DB: 3},
		"no TLS there":   {Password: canaryPassword, TLSEnabled: true, TLSConfig: &tls.Config{InsecureSkipVerify: true}},
	} {
		opts.Logger, opts.IOTimeout, opts.ReconnectPause = events, 300*time.Millisecond, -1
		conn, err := redisconn.Connect(context.Background(), server.Addr(), opts)
		require.Error(t, err, name)
		require.Nil(t, conn, name)
		o.hear(err)
	}
	for _, addr := range []string{"redis://user:" + canaryPassword + "@127.0.0.1:1/", "tcp://:" + canaryPassword + "@:1"} {
		conn, err := redisconn.Connect(context.Background(), addr, redisconn.Opts{Logger: events, IOTimeout: 100 * time.Millisecond, ReconnectPause: -1})
		require.Error(t, err)
		require.Nil(t, conn)
	}
}

// T21: each of four bad certificates is refused, and a good one is accepted.
func TestT21Certificates(t *testing.T) {
	ca, err := testbed.NewCA()
	require.NoError(t, err)
	client, err := ca.ClientConfig()
	require.NoError(t, err)
	for name, tt := range map[string]struct {
		make func() (tls.Certificate, error)
		good bool
	}{
		"good":          {ca.Server, true},
		"expired":       {ca.Expired, false},
		"not yet valid": {ca.NotYetValid, false},
		"wrong host":    {ca.WrongHost, false},
		"unknown CA":    {ca.UnknownCA, false},
	} {
		t.Run(name, func(t *testing.T) {
			cert, err := tt.make()
			require.NoError(t, err)
			s := chaos.NewScripted(t, chaos.ScriptedOpts{
				Password: canaryPassword, TLS: &tls.Config{Certificates: []tls.Certificate{cert}},
			})
			opts := fast()
			opts.IOTimeout, opts.DialTimeout = patience, patience
			opts.Logger, opts.Password = redisconn.NoopLogger{}, canaryPassword
			opts.TLSEnabled, opts.TLSConfig = true, &tls.Config{RootCAs: client.RootCAs}
			conn, err := redisconn.Connect(context.Background(), s.Addr(), opts)
			if tt.good {
				require.NoError(t, err)
				require.Equal(t, "OK", redis.Sync{S: conn}.Do("SET", "a", "b"))
				conn.Close()
				return
			}
			require.Error(t, err)
			require.True(t, redis.AsErrorx(err).HasTrait(redisconn.ErrTraitInitPermanent), "%+v", err)
			require.Empty(t, s.Requests(), "nothing was sent, least of all the password")
			overheard{t}.hear(err)
		})
	}
}
