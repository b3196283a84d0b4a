package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/joomcode/redispipe/testbed"
)

// sentinelsBehind returns HAProxy in front of three sentinels. Clients can't reach the sentinels
// directly. On PORT it passes each connection to the next sentinel.
func sentinelsBehind(name, server string) *proxy {
	p := &proxy{name: name, behind: sentinels, server: server, version: []string{"haproxy", "-v"}, file: "haproxy.cfg"}
	p.config = strings.Split(haproxyConfig, "listen")[0] + `listen all
  bind 127.0.0.1:PORT
  balance roundrobin
  server s1 ADDR1
  server s2 ADDR2
  server s3 ADDR3
`
	for i := 1; i <= 3; i++ {
		p.config += fmt.Sprintf("listen s%d\n  bind 127.0.0.1:FRONT%d\n  server s%d ADDR%d\n", i, i, i, i)
	}
	if name == "no proxy, sentinels" {
		p.version = []string{"redis-server", "--version"}
	} else {
		p.command = []string{"haproxy", "-f", "haproxy.cfg"}
	}
	return p
}

// dial dials an address. If the address is hidden, it waits until ctx ends.
func (to target) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if slices.Contains(to.hidden, addr) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return new(net.Dialer).DialContext(ctx, network, addr)
}

func inFront(to *target) { to.sentinels = true }

func inFrontOfEach(to *target) { to.sentinels, to.addr = true, strings.Join(to.fronts, ",") }

func idleInFront(to *target) { to.sentinels, to.heartbeat = true, time.Minute }

// masterKilled: the client follows the sentinels to another server.
func masterKilled(ctx context.Context, t *trial) error {
	g := t.stage.group
	old, err := g.Master()
	if err == nil {
		err = errors.Join(t.succeeds(ctx, 5*time.Second), old.Kill())
	}
	if err != nil {
		return err
	}
	began := time.Now()
	err = t.succeeds(ctx, 20*time.Second)
	t.note = fmt.Sprintf("after %.1f s", time.Since(began).Seconds())
	promoted, failed := g.WaitPromoted(old)
	if failed == nil {
		_ = g.WaitSettled(promoted) // on a busy machine, the sentinels may have promoted another server since
	}
	return errors.Join(err, failed)
}

// idleSentinels: by the time of the failover the proxy has closed the connections to the sentinels.
func idleSentinels(ctx context.Context, t *trial) error {
	time.Sleep(2500 * time.Millisecond)
	return masterKilled(ctx, t)
}

// gracefulFailover: no acknowledged write is lost.
func gracefulFailover(ctx context.Context, t *trial) error {
	handOver := func() error {
		_, err := t.stage.group.Failover(testbed.Graceful)
		return err
	}
	return t.underFaults(ctx, handOver, func() error { return nil })
}
