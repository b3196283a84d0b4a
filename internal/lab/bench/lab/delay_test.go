package lab

import (
	"bytes"
	"io"
	"math/rand"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// echo starts a server that sends back all bytes, and EOF.
func echo(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	return l.Addr().String()
}

func dialDelay(t *testing.T, roundTrip time.Duration) net.Conn {
	d, err := ListenDelay(echo(t), roundTrip)
	require.NoError(t, err)
	t.Cleanup(d.Close)
	c, err := net.Dial("tcp", d.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
	return c
}

func TestDelayIsNeverShort(t *testing.T) {
	const roundTrip = 20 * time.Millisecond
	c := dialDelay(t, roundTrip)
	buf := make([]byte, 4)
	for range 5 {
		begin := time.Now()
		_, err := c.Write([]byte("ping"))
		require.NoError(t, err)
		_, err = io.ReadFull(c, buf)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, time.Since(begin), roundTrip)
	}
}

func TestDelayKeepsBytesAndDoesNotLimitThem(t *testing.T) {
	const roundTrip = 100 * time.Millisecond
	c := dialDelay(t, roundTrip)
	sent := make([]byte, 16<<20)
	rand.New(rand.NewSource(1)).Read(sent)
	begin := time.Now()
	go func() {
		_, _ = c.Write(sent)
		_ = c.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(c)
	require.NoError(t, err)
	require.True(t, bytes.Equal(sent, got))
	// 256 chunks one after the other would take 25 s.
	assert.Less(t, time.Since(begin), 20*time.Second)
}

func TestDelayCloseEndsConnections(t *testing.T) {
	d, err := ListenDelay(echo(t), time.Millisecond)
	require.NoError(t, err)
	c, err := net.Dial("tcp", d.Addr())
	require.NoError(t, err)
	defer c.Close() //nolint:errcheck // a test's
	d.Close()
	d.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
	_, err = c.Read(make([]byte, 1))
	assert.Error(t, err)
}
