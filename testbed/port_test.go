package testbed

import (
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
	for range 100 { // none of them from the reserved port to itself
		_, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", p.num))
		assert.ErrorContains(t, err, "refused")
	}
}

// A start that meets a taken port takes others; a restart says what is wrong.
func TestClash(t *testing.T) {
	s := NewServer(t)
	require.NoError(t, s.Stop())
	l, err := net.Listen("tcp", s.Addr())
	require.NoError(t, err)
	defer l.Close()
	assert.ErrorIs(t, s.Restart(), errClash)
	require.NoError(t, s.RestartElsewhere())
}
