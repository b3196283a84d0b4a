package testbed

import (
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConfigByVersion(t *testing.T) {
	o := Options{TLS: true, cluster: 1500 * time.Millisecond}
	ports := portSet{plain: port{num: 1}, tls: port{num: 2}, bus: port{num: 3}}
	seven := strings.Split(o.config(version{major: 7, minor: 0}, "/dir", ports), "\n")
	for _, line := range []string{
		"port 1", "tls-port 2", "cluster-port 3", "cluster-node-timeout 1500", "tls-cluster yes",
		"enable-debug-command local", "cluster-allow-replica-migration no",
	} {
		assert.Contains(t, seven, line)
	}
	six := o.config(version{major: 6, minor: 2}, "/dir", ports)
	for _, word := range []string{"cluster-port", "enable-debug-command", "cluster-allow-replica-migration"} {
		assert.NotContains(t, six, word, "unknown to version 6")
	}
}

func TestExtraConfigComesLast(t *testing.T) {
	text := Options{Config: []string{"port 7"}}.config(version{major: 7, minor: 0}, "/dir", portSet{})
	assert.True(t, strings.HasSuffix(text, "\nport 7\n"))
}

func TestQuote(t *testing.T) {
	assert.Equal(t, `"a b"`, quote("a b"))
	assert.Equal(t, `"\"\\\x0a\xc3\xa9"`, quote("\"\\\né"))
}

func TestReservePorts(t *testing.T) {
	o := Options{TLS: true, cluster: time.Second}
	seven, err := reservePorts(o, version{major: 7, minor: 0})
	require.NoError(t, err)
	defer seven.releaseAll()
	six, err := reservePorts(o, version{major: 6, minor: 2})
	require.NoError(t, err)
	defer six.releaseAll()
	assert.Equal(t, six.tls.num+busOffset, six.bus.num)
	different := map[int]bool{}
	for _, p := range []port{seven.plain, seven.tls, seven.bus, six.plain, six.tls, six.bus} {
		different[p.num] = true
	}
	assert.Len(t, different, 6)

	bare, err := reservePorts(Options{}, version{major: 7, minor: 0})
	require.NoError(t, err)
	defer bare.releaseAll()
	assert.Zero(t, bare.tls.num+bare.bus.num)
}

func TestReservedPortRefuses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("ports are kept on Linux only")
	}
	p, err := reserve(0)
	require.NoError(t, err)
	defer p.release()
	_, err = reserve(70000)
	assert.Error(t, err)
	for range 100 { // the kernel must never use the reserved port as the local port of a connection
		_, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", p.num))
		assert.ErrorContains(t, err, "refused")
	}
}

// If a port is taken, a start uses other ports, and a restart returns an error that says so.
func TestClash(t *testing.T) {
	s := NewServer(t)
	require.NoError(t, s.Stop())
	l, err := net.Listen("tcp", s.Addr())
	require.NoError(t, err)
	defer l.Close()
	assert.ErrorIs(t, s.Restart(), errClash)
	require.NoError(t, s.RestartElsewhere())
}
