package rediscluster

import (
	"crypto/tls"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

func TestOptsDefaults(t *testing.T) {
	o := Opts{}.withDefaults()
	assert.Equal(t, 2, o.ConnsPerHost)
	assert.Equal(t, 5*time.Second, o.CheckInterval)
	assert.Equal(t, 3, o.MovedRetries)
	assert.Equal(t, 20*time.Millisecond, o.WaitToMigrate)
	assert.Equal(t, DefaultLogger{}, o.Logger)
	assert.Equal(t, RoundRobinSeed(DefaultRoundRobinSeed()), o.RoundRobinSeed)
	assert.Equal(t, 200*time.Millisecond, o.HostOpts.ReconnectPause)
	assert.Equal(t, 500*time.Millisecond, o.HostOpts.ReconnectPauseMax)
}

func TestOptsBounds(t *testing.T) {
	cases := []struct {
		in, want Opts
	}{
		{Opts{CheckInterval: 1}, Opts{CheckInterval: 100 * time.Millisecond}},
		{Opts{CheckInterval: time.Hour}, Opts{CheckInterval: 10 * time.Minute}},
		{Opts{CheckInterval: -1}, Opts{CheckInterval: 5 * time.Second}},
		{Opts{MovedRetries: 11}, Opts{MovedRetries: 10}},
		{Opts{MovedRetries: -1}, Opts{MovedRetries: 3}},
		{Opts{MovedRetries: 1}, Opts{MovedRetries: 1}},
		{Opts{WaitToMigrate: 1}, Opts{WaitToMigrate: 100 * time.Microsecond}},
		{Opts{WaitToMigrate: time.Hour}, Opts{WaitToMigrate: time.Second}},
		{Opts{ReplicaLinkDownTolerance: 0}, Opts{ReplicaLinkDownTolerance: time.Minute}},
		{Opts{ReplicaLinkDownTolerance: -time.Hour}, Opts{ReplicaLinkDownTolerance: -1}},
		{Opts{ConnsPerHost: -1}, Opts{ConnsPerHost: 2}},
		{Opts{ConnsPerHost: 7}, Opts{ConnsPerHost: 7}},
	}
	for _, c := range cases {
		assert.Equal(t, c.want.withDefaults(), c.in.withDefaults())
	}
}

func TestCorrectionsAreReported(t *testing.T) {
	node := newScriptedNode(t, chaos.ScriptedReplies("+OK\r\n"))
	_, rec := connect(t, []string{node.Addr()}, Opts{
		CheckInterval: time.Millisecond, MovedRetries: 99, WaitToMigrate: time.Second,
		HostOpts:     redisconn.Opts{ReadOnly: true, ReconnectPause: -1, DialTimeout: -1},
		SentinelOpts: redisconn.Opts{ReconnectPause: -1},
	})
	want := []LogEvent{
		LogOptCorrected{"CheckInterval", time.Millisecond, minCheckInterval},
		LogOptCorrected{"MovedRetries", 99, maxMovedRetries},
		LogOptCorrected{"HostOpts.ReadOnly", true, false},
		LogOptCorrected{"HostOpts.ReconnectPause", time.Duration(-1), defaultReconnectPause},
		LogOptCorrected{"SentinelOpts.ReconnectPause", time.Duration(-1), time.Duration(0)},
	}
	await(t, "connections", func() bool {
		up := 0
		rec.seen(func(e LogEvent) bool {
			if host, ok := e.(LogHostEvent); ok {
				if _, connected := host.Event.(redisconn.LogConnected); connected {
					up++
				}
			}
			return false
		})
		return up == defaultConnsPerHost
	})
	rec.mu.Lock()
	defer rec.mu.Unlock()
	ofConns := 0
	assert.Equal(t, want, rec.events[:len(want)])
	for _, event := range rec.events[len(want):] {
		_, again := event.(LogOptCorrected)
		assert.False(t, again, "reported once")
		if host, ok := event.(LogHostEvent); ok {
			if _, ok := host.Event.(redisconn.LogOptCorrected); ok {
				ofConns++
			}
		}
	}
	assert.Equal(t, 1, ofConns, "DialTimeout, by one of the connections")
	assert.Empty(t, corrections(Opts{}, Opts{}.withDefaults()), "defaults are no corrections")
}

func TestOptsHost(t *testing.T) {
	config := &tls.Config{ServerName: "a", MinVersion: tls.VersionTLS12}
	o := Opts{
		TLSEnabled: true,
		TLSConfig:  config,
		HostOpts:   redisconn.Opts{AsyncDial: true, ReadOnly: true, ReconnectPause: -1, ReconnectPauseMax: time.Minute},
	}.withDefaults()
	assert.True(t, o.HostOpts.TLSEnabled)
	assert.Same(t, config, o.HostOpts.TLSConfig)
	assert.False(t, o.HostOpts.AsyncDial)
	assert.False(t, o.HostOpts.ReadOnly, "masters must not answer as replicas do")
	assert.Equal(t, 200*time.Millisecond, o.HostOpts.ReconnectPause, "nodes are always dialed again")
	assert.Equal(t, time.Minute, o.HostOpts.ReconnectPauseMax)

	o = Opts{HostOpts: redisconn.Opts{TLSEnabled: true, TLSConfig: config}}.withDefaults()
	assert.True(t, o.HostOpts.TLSEnabled)
	assert.Same(t, config, o.HostOpts.TLSConfig)
}

func TestTLSFor(t *testing.T) {
	own := &tls.Config{ServerName: "own", MinVersion: tls.VersionTLS12}
	assert.Nil(t, tlsFor(redisconn.Opts{}, "a.example"))
	assert.Equal(t, "a.example", tlsFor(redisconn.Opts{TLSEnabled: true}, "a.example").ServerName)
	assert.Equal(t, "own", tlsFor(redisconn.Opts{TLSEnabled: true, TLSConfig: own}, "a.example").ServerName)
	open := &tls.Config{MinVersion: tls.VersionTLS12}
	assert.Equal(t, "a.example", tlsFor(redisconn.Opts{TLSEnabled: true, TLSConfig: open}, "a.example").ServerName)
	assert.Empty(t, open.ServerName, "the user's own is left alone")
}

func TestNothingPrintsThePassword(t *testing.T) {
	o := Opts{Name: "orders", HostOpts: redisconn.Opts{Password: "canary"}}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		for _, v := range []any{o, &o, &Cluster{opts: o}} {
			text := fmt.Sprintf(format, v)
			require.NotContains(t, text, "canary", "%s of %T", format, v)
			require.Contains(t, text, "orders", "%s of %T", format, v)
		}
	}
}
