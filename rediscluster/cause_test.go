package rediscluster_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// awaitCause calls disconnect and sends a request, again and again, until an error names the server at addr and has a
// cause of the type want, and returns that error. A connection that is being opened may outlive one call of disconnect.
func awaitCause(t *testing.T, s redis.Sender, addr string, want *errorx.Type, disconnect func()) error {
	t.Helper()
	var err *errorx.Error
	require.Eventually(t, func() bool {
		disconnect()
		err = redis.AsErrorx(redis.Sync{S: s}.Do("SET", "a", "1"))
		if err == nil || !err.IsOfType(rediscluster.ErrNoAliveConnection) || err.Cause() == nil {
			return false
		}
		cause := errorx.Cast(err.Cause())
		return cause != nil && cause.IsOfType(want)
	}, patience, time.Millisecond, "the cause")
	at, _ := err.Property(redis.EKAddress)
	assert.Equal(t, addr, at)
	assert.True(t, err.HasTrait(redis.ErrTraitNotSent))
	assert.NotContains(t, err.Error(), "secret")
	assert.Equal(t, want == redisconn.ErrDial, redis.SafeToRetry(err), "only what may pass is safe to retry")
	return err
}

// If no server is connected, the error of a request contains the reason, with each kind of client.
func TestNoAliveConnectionSaysWhy(t *testing.T) {
	t.Parallel()
	clustered := testbed.NewCluster(t, testbed.ClusterOptions{Masters: 1, Replicas: -1})
	group := testbed.NewGroup(t, testbed.GroupOptions{Replicas: -1, Sentinels: 1, DownAfter: noElection})
	lone := testbed.NewServer(t)
	opts := rediscluster.Opts{Logger: rediscluster.NoopLogger{}, HostOpts: redisconn.Opts{IOTimeout: patience}}
	for name, tt := range map[string]struct {
		server *testbed.Server
		open   func() (*rediscluster.Cluster, error)
	}{
		"cluster": {clustered.Node(0).Server, func() (*rediscluster.Cluster, error) {
			return rediscluster.NewCluster(t.Context(), clustered.Addrs(), opts)
		}},
		"sentinels": {group.Servers()[0], func() (*rediscluster.Cluster, error) {
			return rediscluster.NewSentinel(overTilt(t), group.SentinelAddrs(), group.MasterName(), opts)
		}},
		"list": {lone, func() (*rediscluster.Cluster, error) {
			return rediscluster.NewReplicated(t.Context(), []string{lone.Addr()}, opts)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tt.server
			c, err := tt.open()
			require.NoError(t, err)
			t.Cleanup(c.Close)
			require.NoError(t, s.Kill())
			awaitCause(t, c, s.Addr(), redisconn.ErrDial, func() {})
		})
	}
}

// If every server refuses the password, the error of a request says so.
func TestNoAliveConnectionSaysThatThePasswordIsWrong(t *testing.T) {
	t.Parallel()
	tb := testbed.NewCluster(t, testbed.ClusterOptions{Options: testbed.Options{Password: "secret"}, Masters: 1, Replicas: -1})
	s := tb.Node(0)
	refuse := make(chan struct{})
	c, err := rediscluster.NewCluster(t.Context(), tb.Addrs(), rediscluster.Opts{
		Logger: rediscluster.NoopLogger{},
		HostOpts: redisconn.Opts{IOTimeout: patience, CredentialsProvider: func(context.Context) (redisconn.Credentials, error) {
			select {
			case <-refuse:
				return redisconn.Credentials{Password: "secret of another"}, nil
			default:
				return redisconn.Credentials{Password: "secret"}, nil
			}
		}},
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", "a", "1"))
	close(refuse)
	awaitCause(t, c, s.Addr(), redisconn.ErrAuth, func() { s.Do("CLIENT KILL", "TYPE", "NORMAL", "SKIPME", "yes") })
}

// A Dialer gets the addresses as they were given: names that only it can resolve are good seeds.
func TestDialerGetsTheNamesOfSeeds(t *testing.T) {
	t.Parallel()
	tb := testbed.NewCluster(t, testbed.ClusterOptions{Masters: 1, Replicas: -1})
	lone := testbed.NewServer(t)
	var d rediscluster.Detours
	d.Lead("nodes.invalid", tb.Node(0).Addr())
	d.Lead("primary.invalid", lone.Addr())
	opts := rediscluster.Opts{Logger: rediscluster.NoopLogger{}, HostOpts: redisconn.Opts{Dialer: d.Dial, IOTimeout: patience}}
	open := func(c *rediscluster.Cluster, err error) {
		require.NoError(t, err)
		defer c.Close()
		require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", "a", "1"))
	}
	open(rediscluster.NewCluster(t.Context(), []string{"nodes.invalid:6379"}, opts))
	open(rediscluster.NewReplicated(t.Context(), []string{"primary.invalid:6379"}, opts))
}

// If none of the names in a list can be resolved, the error says why no server is known.
func TestReplicatedSaysWhyNoAddressIsKnown(t *testing.T) {
	t.Parallel()
	_, err := rediscluster.NewReplicated(t.Context(), []string{"primary.invalid:6379"}, rediscluster.Opts{Logger: rediscluster.NoopLogger{}})
	require.Error(t, err)
	require.True(t, redis.AsErrorx(err).IsOfType(rediscluster.ErrNoMaster))
	require.ErrorContains(t, err, "primary.invalid")
	require.NotNil(t, redis.AsErrorx(err).Cause())
}

// If a running client connects again and meets a permanent failure, the errors of requests name the cause,
// and a retry is not safe.
func TestNoAliveConnectionForReasonsThatLast(t *testing.T) {
	t.Parallel()
	testbed.Needs(t, testbed.TLS)
	tb := testbed.NewCluster(t, testbed.ClusterOptions{
		Options: testbed.Options{TLS: true, ACL: []string{"app on >secret ~* &* +@all"}}, Masters: 1, Replicas: -1,
	})
	node := tb.Node(0)
	other, many := testbed.NewServer(t, testbed.Options{TLS: true}), testbed.NewServer(t, testbed.Options{Config: []string{"databases 100"}})
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	trusted, err := node.ClientTLS()
	require.NoError(t, err)
	for _, tt := range []struct {
		name    string
		at      *testbed.Server
		opts    redisconn.Opts
		instead string // the kind of server at the address when the client connects again
		want    *errorx.Type
		says    string
	}{
		{"HTTP server", node.Server, redisconn.Opts{}, web.Listener.Addr().String(), redisconn.ErrInit, "the server is not a Redis"},
		{"certificate", node.Server, redisconn.Opts{TLSEnabled: true, TLSConfig: trusted}, other.TLSAddr(), redisconn.ErrTLS, "certificate"},
		{"database", many, redisconn.Opts{DB: 99}, other.Addr(), redisconn.ErrInit, "DB index is out of range"},
		{"user", node.Server, redisconn.Opts{Username: "app", Password: "secret"}, "", redisconn.ErrAuth, "WRONGPASS"},
	} {
		var d rediscluster.Detours
		addr, open := tt.at.Addr(), rediscluster.NewCluster
		if tt.opts.TLSEnabled {
			addr = tt.at.TLSAddr()
		}
		if tt.at == many {
			open = rediscluster.NewReplicated
		}
		tt.opts.Dialer, tt.opts.IOTimeout = d.Dial, patience
		c, err := open(t.Context(), []string{addr}, rediscluster.Opts{Logger: rediscluster.NoopLogger{}, HostOpts: tt.opts})
		require.NoError(t, err, tt.name)
		require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", "a", "1"), tt.name)
		if tt.instead != "" {
			d.Lead(addr, tt.instead)
		} else {
			require.Equal(t, int64(1), tt.at.Do("ACL", "DELUSER", "app"))
		}
		err = awaitCause(t, c, addr, tt.want, func() { tt.at.Do("CLIENT", "KILL", "TYPE", "NORMAL", "SKIPME", "yes") })
		require.ErrorContains(t, err, tt.says, tt.name)
		c.Close()
	}
	_, err = rediscluster.NewReplicated(t.Context(), []string{other.Addr()}, rediscluster.Opts{Logger: rediscluster.NoopLogger{}, HostOpts: redisconn.Opts{DB: 99}})
	require.ErrorContains(t, err, "DB index is out of range")
	require.False(t, redis.SafeToRetry(err))
	require.NotNil(t, errs.PermanentCause(redis.AsErrorx(err)))
}
