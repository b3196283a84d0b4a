package redisconn_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// executed records the requests that two faulty servers have run.
type executed struct {
	mu    sync.Mutex // guards the fields below
	last  map[string]int
	ids   map[string]bool
	wrong []string
}

// handler runs ECHO g:n, which must come after all earlier requests of goroutine g. Now and then it closes the
// connection before or after that.
func (e *executed) handler(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
	fault := rand.N(2000)
	if fault == 0 {
		c.Reset()
		return nil
	}
	reply := "+OK\r\n"
	if r.Cmd == "ECHO" {
		e.run(r.Args[0])
		reply = chaos.ScriptedBulk(r.Args[0])
	}
	if fault == 1 {
		c.Close()
		return nil
	}
	_, err := io.WriteString(c, reply)
	return err
}

func (e *executed) run(id string) {
	g, number, _ := strings.Cut(id, ":")
	n, _ := strconv.Atoi(number)
	e.mu.Lock()
	defer e.mu.Unlock()
	if n <= e.last[g] {
		e.wrong = append(e.wrong, fmt.Sprintf("%s after %d", id, e.last[g]))
	}
	e.last[g] = n
	e.ids[id] = true
}

// check records an error if the result of a request does not fit what the servers have run. It reports whether the
// request was answered.
func (e *executed) check(id string, res any) (answered bool) {
	outcome := redis.OutcomeOf(res)
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case outcome == redis.OutcomeValue && (fmt.Sprintf("%s", res) != id || !e.ids[id]):
		e.wrong = append(e.wrong, fmt.Sprintf("%s: %s, run: %v", id, res, e.ids[id]))
	case outcome == redis.OutcomeNotSent && e.ids[id]:
		e.wrong = append(e.wrong, id+" was not sent, but has run")
	}
	return outcome == redis.OutcomeValue
}

// Two servers that close connections at random announce again and again that they move: to each other, to themselves, or
// to an address where nothing listens. No request runs twice or after a later one of its goroutine, each gets its own
// answer, and those that were reported as not sent have not run.
func TestHandOversWithFaults(t *testing.T) {
	drill.Rotate(t)
	times := 20
	if drill.InFull {
		times = 1000
	}
	e := &executed{last: map[string]int{}, ids: map[string]bool{}}
	addrs := []string{"127.0.0.1:1"}
	servers := [2]*chaos.ScriptedServer{}
	for i := range servers {
		servers[i] = chaos.NewScripted(t, chaos.ScriptedOpts{Handler: e.handler})
		addrs = append(addrs, servers[i].Addr())
	}
	conn := connect(t, servers[0].Addr(), redisconn.Opts{Protocol: 3, IOTimeout: patience, ReconnectPause: 10 * time.Millisecond, Logger: redisconn.NoopLogger{}})
	db := redis.SyncCtx{S: conn}
	var over atomic.Bool
	var answered atomic.Int64
	var callers sync.WaitGroup
	for g := range 6 {
		callers.Go(func() {
			for n := 0; !over.Load(); {
				next := func() string { n++; return fmt.Sprintf("%d:%d", g, n) }
				if g < 3 {
					if id := next(); e.check(id, db.Do(t.Context(), "ECHO", id)) {
						answered.Add(1)
					} else {
						time.Sleep(time.Millisecond) // there may be no connection
					}
					continue
				}
				var all sync.WaitGroup
				for range 20 {
					id := next()
					all.Add(1)
					conn.Send(redis.Req("ECHO", id), redis.FuncFuture(func(res any, _ uint64) {
						defer all.Done()
						if e.check(id, res) {
							answered.Add(1)
						}
					}), 0)
				}
				all.Wait()
				time.Sleep(time.Millisecond)
			}
		})
	}
	for range times {
		pushes := ""
		for range 1 + rand.N(3) {
			pushes += moving(addrs[rand.N(len(addrs))])
		}
		servers[rand.N(2)].Broadcast([]byte(pushes))
		before := answered.Load()
		eventually(t, "more answers", func() bool { return answered.Load() >= before+50 })
	}
	over.Store(true)
	callers.Wait()
	require.Empty(t, e.wrong)
}
