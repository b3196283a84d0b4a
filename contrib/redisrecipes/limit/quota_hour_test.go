package limit

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest/memserver"
)

// bubbleSender sends to a server outside of the test's bubble, and sets the server's clock to that of the bubble. It reads
// only while it waits for a reply: between calls nothing keeps the bubble's clock from moving.
type bubbleSender struct {
	redis.Sender
	t      *testing.T
	server *memserver.Server
	conn   net.Conn
	in     *bufio.Reader
	calls  int
}

func newBubbleSender(t *testing.T, server *memserver.Server) *bubbleSender {
	conn, err := net.Dial("tcp", server.Addr())
	require.NoError(t, err)
	return &bubbleSender{t: t, server: server, conn: conn, in: bufio.NewReader(conn)}
}

func (b *bubbleSender) Send(r redis.Request, cb redis.Future, n uint64) {
	b.calls++
	b.server.Miniredis().SetTime(time.Now())
	out, err := redis.AppendRequest(nil, r)
	require.NoError(b.t, err)
	_, err = b.conn.Write(out)
	require.NoError(b.t, err)
	res, _ := redis.ReadResponse(b.in)
	cb.Resolve(res, n)
}

// In an hour, three processes with Batch let as many requests pass as one exact limiter, within 1 %, at a load just below
// the limit and at one above it. At most 1 % more than the limit passes within any Per of a window.
func TestAnHourOfBatches(t *testing.T) {
	rate, loads, end := Rate{Count: 1200, Per: time.Minute}, []int{130}, 65*time.Second
	if os.Getenv("REDISPIPE_LONG") != "" {
		loads, end = []int{95, 130}, time.Hour
	}
	for name, kind := range kinds {
		for _, load := range loads { // in percent of the limit
			server := memserver.Strict(t)
			t.Run(fmt.Sprint(name, load), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					to := newBubbleSender(t, server)
					defer to.conn.Close()
					var processes []*Limiter
					for range 3 {
						limiter, err := New(to, Opts{Rate: rate, Kind: kind, Batch: 64, Timeout: patience})
						require.NoError(t, err)
						processes = append(processes, limiter)
					}
					reference := &exact{Rate: rate}
					decide := map[Kind]func(time.Duration) bool{Smooth: reference.smooth, Window: reference.window}[kind]
					var passed []time.Duration
					ideal, takes, most := 0, 0, rate.Count+rate.Count/100
					pause := rate.Per * 100 / time.Duration(rate.Count*load)
					for began := time.Now(); time.Since(began) < end; takes++ {
						now := time.Since(began)
						d, err := processes[takes%len(processes)].Allow(t.Context(), "user:1")
						require.NoError(t, err)
						require.NoError(t, d.Unavailable)
						if decide(now) {
							ideal++
						}
						if d.Allowed {
							passed = append(passed, now)
						}
						if n := len(passed) - 1 - most; kind == Window && n >= 0 {
							require.GreaterOrEqual(t, passed[n+most]-passed[n], rate.Per)
						}
						time.Sleep(pause)
					}
					t.Logf("%d of %d passed, with an exact limiter %d; %d calls", len(passed), takes, ideal, to.calls)
					require.InEpsilon(t, ideal, len(passed), 0.01)
					if load < 100 {
						require.Less(t, to.calls, takes/2)
					}
				})
			})
		}
	}
}
