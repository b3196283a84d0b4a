package engine

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/timing"
)

// breaking is a caller whose future panics or ends the goroutine that resolves it.
type breaking struct {
	*caller
	how func()
}

func (b breaking) Resolve(res any, n uint64) {
	b.caller.Resolve(res, n)
	b.how()
}

// If a caller's goroutine ends after it has read the last reply of a batch, the batch is taken out
// of flight, and the loop reads on.
func TestCallerBreaksOffWithItsLastAnswer(t *testing.T) {
	panics, nothing := func() { panic("on purpose") }, func() {}
	for name, c := range map[string]struct{ future, logger func() }{
		"the future panics":             {panics, nothing},
		"the future ends the goroutine": {runtime.Goexit, nothing},
		"the logger panics":             {nothing, panics},
		"the logger ends the goroutine": {nothing, runtime.Goexit},
		"both, and the future panics":   {panics, runtime.Goexit},
	} {
		t.Run(name, func(t *testing.T) {
			for {
				p, s, there := lone(t)
				p.opts.ReqStat = func(*timing.Stat, any, int, int) { c.logger() }
				p.opts.Stat = func(*send.Request) *timing.Stat { return &timing.Stat{} }
				reqs := encoded("*1\r\n$4\r\nPING\r\n")
				b := breaking{newCaller(), c.future}
				reqs[0].Caller = b
				refused := p.Enter(reqs, &Entry{Future: b})
				require.Nil(t, refused)
				if len(b.given) == 0 { // the loop has just taken the right to read: try again
					continue
				}
				r := <-b.given
				go r.Reader.ReadUntil(context.Background(), r.Last, false)
				pong := func() {
					_, err := there.Read(make([]byte, 64))
					require.NoError(t, err)
					_, err = there.Write([]byte("+PONG\r\n"))
					require.NoError(t, err)
				}
				pong()
				require.Equal(t, "PONG", <-b.res)
				require.Eventually(t, p.queue.idle, 10*time.Second, time.Millisecond)

				res := make(chan any, 1)
				refused = p.Enter(encoded("*1\r\n$4\r\nPING\r\n"), &Entry{Future: send.Internal(func(r any, _ uint64) { res <- r })})
				require.Nil(t, refused)
				pong()
				require.Equal(t, "PONG", <-res)
				require.False(t, s.hasFailed())
				return
			}
		})
	}
}
