package engine

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Reads that wait show that the server runs at the same time as the client.
func TestParallel(t *testing.T) {
	p := new(parallel)
	require.False(t, p.is(), "nothing is known yet")
	reads := func(took time.Duration) (n int) {
		for before := p.is(); p.is() == before; n++ {
			require.Less(t, n, 1000)
			p.note(took)
		}
		return n
	}
	require.Greater(t, reads(20*time.Microsecond), 8, "a few reads may wait for other reasons")
	for range 1000 { // two of three reads find their data, because the server has been at work in the meantime
		p.note(time.Microsecond)
		p.note(time.Microsecond)
		p.note(20 * time.Microsecond)
	}
	require.True(t, p.is())
	require.Greater(t, reads(time.Microsecond), 8)
	for range 100 {
		p.note(500 * time.Nanosecond)
	}
	p.note(time.Hour)
	require.False(t, p.is(), "one read waited for a request")
	require.False(t, (*parallel)(nil).is())
}

func TestParallelReads(t *testing.T) {
	here, there := net.Pipe()
	go func() {
		_, _ = there.Write([]byte("some"))
		_ = there.Close()
	}()
	p, buf := new(parallel), make([]byte, 10)
	n, err := p.read(here, buf)
	require.NoError(t, err)
	require.Equal(t, "some", string(buf[:n]))
	require.Positive(t, p.average.Load())
	_, err = p.read(here, buf)
	require.Error(t, err)
	require.NoError(t, here.Close())
}
