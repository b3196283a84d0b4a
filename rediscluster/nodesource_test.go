package rediscluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

func TestBadSeedsAreSkipped(t *testing.T) {
	tb := sharedCluster(t)
	frozen, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections, and never answers
	require.NoError(t, err)
	defer frozen.Close()
	_, port, _ := net.SplitHostPort(tb.Node(1).Addr())
	seeds := []string{"host.invalid:6379", "127.0.0.1:1", "nonsense", frozen.Addr().String(), "localhost:" + port}
	await(t, "reports of seeds that fail no later than the others answer", func() bool {
		c, rec := connect(t, seeds, Opts{HostOpts: redisconn.Opts{IOTimeout: time.Hour}}) // one answer is enough
		assert.Equal(t, "OK", redis.Sync{S: c}.Do("SET", "key", "value"))
		reported := 0
		for _, seed := range seeds[1:3] {
			if rec.seen(func(e LogEvent) bool {
				skipped, ok := e.(LogInitialNodeSkipped)
				return ok && skipped.Address == seed && skipped.Error != nil
			}) {
				reported++
			}
		}
		return reported == 2
	})
}

func TestTheLongestIOTimeout(t *testing.T) {
	tb := sharedCluster(t)
	c, _ := connect(t, tb.Addrs(), Opts{HostOpts: redisconn.Opts{IOTimeout: math.MaxInt64}})
	assert.Equal(t, "OK", redis.Sync{S: c}.Do("SET", "key", "value"))
}

func TestWrongPassword(t *testing.T) {
	t.Parallel()
	watchLeaks(t)
	const canary = "canary-7f3a"
	tb := testbed.NewCluster(t, testbed.ClusterOptions{Options: testbed.Options{Password: "right"}, Replicas: -1})
	_, err := NewCluster(context.Background(), tb.Addrs(), Opts{Logger: NoopLogger{}, HostOpts: redisconn.Opts{Password: canary}})
	isType(t, redisconn.ErrAuth, err)
	assert.True(t, redis.AsErrorx(err).HasTrait(redisconn.ErrTraitInitPermanent))
	assert.False(t, redis.SafeToRetry(err))
	assert.NotContains(t, err.Error(), canary)
	noLeaks(t)

	c, _ := connect(t, tb.Addrs(), Opts{HostOpts: redisconn.Opts{Password: "right"}})
	assert.Equal(t, "OK", redis.Sync{S: c}.Do("SET", "key", "value"))
}

func TestTLS(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	testbed.Needs(t, testbed.TLS)
	tb := testbed.NewCluster(t, testbed.ClusterOptions{Options: testbed.Options{TLS: true}})
	config, err := tb.Node(0).ClientTLS()
	require.NoError(t, err)
	_, port, _ := net.SplitHostPort(tb.Node(0).TLSAddr())
	for name, seeds := range map[string][]string{"by IP": tb.TLSAddrs(), "by name": {"localhost:" + port}} {
		t.Run(name, func(t *testing.T) {
			c, rec := connect(t, seeds, Opts{TLSEnabled: true, TLSConfig: config})
			s := redis.Sync{S: c}
			for _, key := range strings.Split("abcdefgh", "") {
				require.Equal(t, "OK", s.Do("SET", key, key))
			}
			slot, from := owner(t, tb, "a")
			require.NoError(t, tb.MoveSlot(slot, another(t, tb, from)))
			assert.Equal(t, []byte("a"), s.Do("GET", "a"))
			answers, _ := rec.take()
			for addr := range answers {
				assert.Contains(t, tb.TLSAddrs(), addr, "the plain port is not used")
			}
			for _, n := range tb.Nodes()[3:] {
				await(t, "replica", func() bool {
					node := c.topology.Load().Find(n.TLSAddr())
					return node != nil && node.Readable()
				})
			}
		})
	}
	strange := config.Clone()
	strange.RootCAs = x509.NewCertPool()
	for _, config := range []*tls.Config{strange, nil} {
		_, err = NewCluster(context.Background(), tb.TLSAddrs(), Opts{
			TLSEnabled: true, TLSConfig: config, Logger: NoopLogger{}, HostOpts: redisconn.Opts{IOTimeout: patience},
		})
		require.Error(t, err)
		assert.True(t, redis.AsErrorx(err).HasTrait(redisconn.ErrTraitInitPermanent), "%v", err)
	}
}

// A node may announce its hostname after the client has begun to dial the node by its IP. Its certificate
// may be valid only for the hostname.
func TestTLSOfHostnamesThatAreToldLater(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	testbed.Needs(t, testbed.TLS)
	tb := testbed.NewCluster(t, testbed.ClusterOptions{Options: testbed.Options{TLS: true}, Replicas: -1})
	config, err := tb.Node(0).ClientTLS()
	require.NoError(t, err)
	config.VerifyConnection = func(s tls.ConnectionState) error {
		if s.ServerName != "localhost" {
			return errors.New("the certificate is for localhost only")
		}
		return nil
	}
	_, port, _ := net.SplitHostPort(tb.Node(0).TLSAddr())
	c, _ := connect(t, []string{"localhost:" + port}, Opts{TLSEnabled: true, TLSConfig: config, CheckInterval: minCheckInterval})
	for _, n := range tb.Nodes()[1:] {
		require.False(t, c.topology.Load().Find(n.TLSAddr()).Up())
	}
	for _, n := range tb.Nodes() {
		require.Equal(t, "OK", n.Do("CONFIG SET", "cluster-announce-hostname", "localhost"))
	}
	await(t, "connections to all nodes", func() bool {
		return !slices.ContainsFunc(tb.TLSAddrs(), func(addr string) bool { return !c.topology.Load().Find(addr).Up() })
	})
}

// The certificate of a node that announces a hostname may be valid only for its IP.
func TestTLSOfCertificatesForIPsOnly(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	testbed.Needs(t, testbed.TLS, testbed.Version(7, 0))
	ca, err := testbed.NewCA()
	require.NoError(t, err)
	cert, err := ca.Issue(testbed.CertSpec{Hosts: []string{"127.0.0.1"}})
	require.NoError(t, err)
	tb := testbed.NewCluster(t, testbed.ClusterOptions{Replicas: -1, Options: testbed.Options{
		TLS: true, CA: ca, Certificate: &cert, Config: []string{"cluster-announce-hostname localhost"},
	}})
	config, err := tb.Node(0).ClientTLS()
	require.NoError(t, err)
	c, _ := connect(t, tb.TLSAddrs()[:1], Opts{TLSEnabled: true, TLSConfig: config, CheckInterval: maxCheckInterval})
	for _, key := range strings.Split("abcdefgh", "") {
		assert.Equal(t, "OK", redis.Sync{S: c}.Do("SET", key, key))
	}
}

func TestSeedsAreAskedAboutNodesWithoutSlots(t *testing.T) {
	t.Parallel()
	watchLeaks(t)
	says := func(reply string) *scriptedNode {
		return newScriptedNode(t, func(c *chaos.ScriptedConn, _ chaos.ScriptedRequest) error {
			_, err := c.Write([]byte(reply))
			return err
		})
	}
	seed, old, other := says("+seed\r\n"), says("+old\r\n"), says("+other\r\n")
	old.serve(old.Addr())
	seed.serve(old.Addr())
	c, _ := connect(t, []string{seed.Addr()}, Opts{CheckInterval: 100 * time.Millisecond})
	require.Equal(t, "old", redis.Sync{S: c}.Do("GET", "key"))

	// A node of another cluster, without slots, answers at the address of the only node.
	none := "*0\r\n"
	old.slots.Store(&none)
	seed.serve(other.Addr())
	await(t, "the seeds' answer", func() bool { return redis.Sync{S: c}.Do("GET", "key") == "other" })
}

// One good address of a seed's name is enough, even if another one refuses connections or does not
// answer.
func TestSeedOfSeveralAddresses(t *testing.T) {
	node := newScriptedNode(t, chaos.ScriptedReplies("+OK\r\n"))
	_, port, err := net.SplitHostPort(node.Addr())
	require.NoError(t, err)
	silent, err := net.Listen("tcp", "127.0.0.3:"+port)
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	nameServers.names.Store(&NameTable{"nodes.test": {"127.0.0.2", "127.0.0.3", "127.0.0.1"}})
	t.Cleanup(func() { nameServers.names.Store(nil) })
	c, _ := connect(t, []string{"nodes.test:" + port}, Opts{})
	require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", "a", 1))

	nameServers.names.Store(&NameTable{"nodes.test": {"127.0.0.2", "127.0.0.4"}})
	_, err = NewCluster(t.Context(), []string{"nodes.test:" + port}, Opts{Logger: NoopLogger{}})
	isType(t, redisconn.ErrDial, err)
}
