package engine

import (
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
)

func TestEndsOf(t *testing.T) {
	for _, c := range []struct {
		sizes []int
		want  []int
	}{
		{nil, nil},
		{[]int{1, 1}, []int{2}},
		{[]int{1, 1, 1}, []int{3}},
		{[]int{1, 1, 1, 1}, []int{3, 4}},
		{[]int{9, 1, 1, 1, 1}, []int{2, 5}},
		{[]int{10, 100, 1}, []int{1, 2, 3}},
	} {
		reqs := requests(len(c.sizes))
		for i, size := range c.sizes {
			reqs[i].Buf = make([]byte, size)
		}
		require.Equal(t, c.want, endsOf(reqs, load{3, 10}), "%v", c.sizes)
	}
}

// sizeOfOne is the size of each request and of each reply in these tests.
const sizeOfOne = len("*1\r\n$1\r\nB\r\n")

// many is a caller that waits for the results of a batch. It does not accept the right to read.
type many struct {
	sends bool // the caller may send more before it has the results
	left  atomic.Bool
	mu    sync.Mutex // guards res and got
	res   []any
	got   int
}

func (m *many) Caller() send.Caller          { return m }
func (m *many) GiveRead(send.ReadRight) bool { return false }
func (m *many) Listen() bool                 { return false }
func (m *many) Waits() bool                  { return !m.sends }
func (m *many) Touch() int                   { return 0 }
func (m *many) Cancelled() error {
	if m.left.Load() {
		return redis.ErrRequestCancelled.New("on purpose")
	}
	return nil
}
func (m *many) Resolve(res any, n uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.res[n-7], m.got = res, m.got+1
}

// results waits until n results have come.
func (m *many) results(t *testing.T, n int) []any {
	waitUntil(t, func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.got == n
	})
	return m.res
}

// batchOf returns a batch that is divided into the given number of parts, and its caller.
func batchOf(parts int) ([]*send.Request, *many) {
	m := &many{res: make([]any, parts*partRequests)}
	reqs := make([]*send.Request, len(m.res))
	for i := range reqs {
		reqs[i] = &send.Request{Buf: []byte("*1\r\n$1\r\nB\r\n"), Caller: m}
	}
	return reqs, m
}

// entered enters a batch in a new session. It also returns the server's end of the connection.
func entered(t *testing.T, parts int) (*Pipe, *Session, net.Conn, *many) {
	p := testPipe()
	p.maxRequests = parts * partRequests
	s, there := pipeSession(t, p)
	reqs, m := batchOf(parts)
	require.Nil(t, p.Enter(reqs, &Entry{Future: m, N: 7}))
	return p, s, there, m
}

// asks reads n requests, each of one letter, and returns the letters.
func asks(t *testing.T, there net.Conn, n int) string {
	require.NoError(t, there.SetReadDeadline(time.Now().Add(20*time.Second)))
	buf := make([]byte, n*sizeOfOne)
	_, err := io.ReadFull(there, buf)
	require.NoError(t, err)
	return strings.NewReplacer("*1\r\n$1\r\n", "", "\r\n", "").Replace(string(buf))
}

func answers(t *testing.T, there net.Conn, n int) {
	_, err := there.Write([]byte(strings.Repeat("+OK\r\n", n)))
	require.NoError(t, err)
}

func isOK(res any) bool { return res == "OK" }
func isUnsent(res any) bool {
	err := redis.AsErrorx(res)
	return err != nil && err.HasTrait(redis.ErrTraitNotSent)
}
func isUnknown(res any) bool { return redis.AsErrorx(res) != nil && !isUnsent(res) }

func requireAll(t *testing.T, results []any, is func(any) bool) {
	t.Helper()
	for i, res := range results {
		require.True(t, is(res), "%d: %v", i, res)
	}
}

// Requests of other callers are written between the parts of a batch. The parts stay in order.
func TestOthersGoBetweenParts(t *testing.T) {
	p, _, there, m := entered(t, 5)
	two, one := strings.Repeat("B", 2*partRequests), strings.Repeat("B", partRequests)
	require.Equal(t, two, asks(t, there, 2*partRequests))
	p.maxRequests++
	require.Nil(t, p.Enter(encoded("*1\r\n$1\r\nO\r\n"), &Entry{Future: forget}))
	require.Equal(t, "O", asks(t, there, 1), "the rest of the batch waits")
	answers(t, there, partRequests)
	require.Equal(t, one, asks(t, there, partRequests))
	answers(t, there, partRequests+1)
	require.Equal(t, one, asks(t, there, partRequests))
	answers(t, there, partRequests)
	require.Equal(t, one, asks(t, there, partRequests))
	answers(t, there, 2*partRequests)
	requireAll(t, m.results(t, 5*partRequests), isOK)
}

// decoding is a caller whose future decodes the replies itself, as typed futures do.
type decoding struct{ *many }

func (decoding) DecodeReply(d *resp.Decoder, _ uint64) (any, error) { return d.Decode() }

func TestPartsDecode(t *testing.T) {
	p := testPipe()
	p.maxRequests = 3 * partRequests
	_, there := pipeSession(t, p)
	reqs, m := batchOf(3)
	for _, r := range reqs {
		r.Typed = true
	}
	require.Nil(t, p.Enter(reqs, &Entry{Future: decoding{m}, N: 7}))
	for range 3 {
		asks(t, there, partRequests)
		answers(t, there, partRequests)
	}
	requireAll(t, m.results(t, 3*partRequests), isOK)
}

// Parts that have not entered yet count towards the bounds of the queue, and a shutdown waits for
// them.
func TestPartsTakeRoom(t *testing.T) {
	p, _, there, m := entered(t, 4)
	rest := 2 * partRequests
	p.mu.Lock()
	require.Equal(t, load{rest, rest * sizeOfOne}, p.held)
	require.True(t, p.fits(load{}))
	require.False(t, p.fits(load{1, 0}))
	require.True(t, p.maxBytes-p.bytes-rest*sizeOfOne >= 0 && !p.fits(load{0, p.maxBytes - p.bytes - rest*sizeOfOne + 1}))
	p.mu.Unlock()
	drained := p.Drain()
	for range 4 {
		asks(t, there, partRequests)
		select {
		case <-drained:
			t.Fatal("there is more")
		default:
		}
		answers(t, there, partRequests)
	}
	<-drained
	requireAll(t, m.results(t, 4*partRequests), isOK)
	require.Zero(t, p.held)
}

// When the session of a divided batch ends, the parts that have not entered are not sent.
func TestPartsEndWithTheirSession(t *testing.T) {
	p, s, there, m := entered(t, 6)
	asks(t, there, 2*partRequests)
	answers(t, there, partRequests)
	asks(t, there, partRequests)
	answers(t, there, 10)
	waitUntil(t, func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.got == partRequests+10
	})
	require.NoError(t, there.Close())
	<-s.failed
	p.Abandon(s, sock.ErrNotConnected.New("unsent"))
	p.current.Store(nil)
	results := m.results(t, 6*partRequests)
	requireAll(t, results[:partRequests+10], isOK)
	requireAll(t, results[partRequests+10:3*partRequests], isUnknown)
	requireAll(t, results[3*partRequests:], isUnsent)
	require.Zero(t, p.held)
}

// After a caller has left, no further part of its batch enters: the caller may have sent other
// requests, which must come after the whole batch.
func TestPartsEndWhenTheCallerLeaves(t *testing.T) {
	p, _, there, m := entered(t, 5)
	asks(t, there, 2*partRequests)
	m.left.Store(true)
	p.maxRequests += 2
	require.Nil(t, p.Enter(encoded("*1\r\n$1\r\nO\r\n"), &Entry{Future: forget}))
	answers(t, there, 2*partRequests)
	results := m.results(t, 5*partRequests)
	requireAll(t, results[2*partRequests:], isUnsent)
	require.Nil(t, p.Enter(encoded("*1\r\n$1\r\nP\r\n"), &Entry{Future: forget}))
	require.Equal(t, "OP", asks(t, there, 2))
	require.Zero(t, p.held)
}

// A batch is not divided if its sender may send more before the results come: later requests must
// follow the whole batch.
func TestWhatIsNotDivided(t *testing.T) {
	p := testPipe()
	reqs, m := batchOf(3)
	require.NotNil(t, p.divide(reqs, &Entry{Future: m}))
	require.Nil(t, p.divide(reqs[:2*partRequests], &Entry{Future: m}), "small")
	require.Nil(t, p.divide(reqs, &Entry{Future: m, Transaction: true}))
	require.Nil(t, p.divide(reqs, &Entry{Future: m, Asking: true}))
	m.sends = true
	require.Nil(t, p.divide(reqs, &Entry{Future: m}), "by a user's own sender")
	reqs[0].Caller = nil
	require.Nil(t, p.divide(reqs, &Entry{Future: forget}))
}
