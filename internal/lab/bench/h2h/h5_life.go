package h2h

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisdumb"
	"github.com/joomcode/redispipe/testbed"
)

var closeColumns = []string{"Close returned after", "callers left 1 s later", "callers that got a value"}

var closeInFlight = closing("H5a", 100, "Close while 100 goroutines wait for a frozen server, with deadlines of 30 s.")

var closeFullQueue = closing("H5b", 20_000, "The same with 20,000 goroutines.")

func closing(id string, callers int, text string) scenario {
	return scenario{
		id: id, text: text, columns: closeColumns,
		stage: func() (*stage, error) {
			server, err := testbed.Start(testbed.Options{})
			if err != nil {
				return nil, err
			}
			return &stage{
				addr: server.Addr(), direct: server.Addr(), close: server.Close,
				fault: func(<-chan struct{}) { _ = server.Pause() },
			}, nil
		},
		act: func(a *act) error { return closeUnder(a, callers) },
	}
}

func closeUnder(a *act, callers int) error {
	s, err := a.open()
	if err != nil {
		return err
	}
	ctx, cancel := deadline(30 * time.Second)
	defer cancel()
	if _, err := s.Do(ctx, "PING"); err != nil {
		return err
	}
	if err := a.ready(); err != nil {
		return err
	}
	time.Sleep(100 * time.Millisecond) // the server is frozen by then
	var left, values atomic.Int64
	left.Store(int64(callers))
	for i := range callers {
		go func() {
			_, err := s.Do(ctx, "SET", fmt.Sprint("key:", i), "value")
			if err == nil {
				values.Add(1)
			}
			left.Add(-1)
		}()
	}
	time.Sleep(300 * time.Millisecond)
	took, ended := within(patience, s.Close)
	result := short(took)
	if !ended {
		result = "never (5 s)"
	}
	time.Sleep(time.Second)
	return a.found(finding{Values: map[string]string{
		closeColumns[0]: result, closeColumns[1]: fmt.Sprint(left.Load()), closeColumns[2]: fmt.Sprint(values.Load()),
	}})
}

var callback = scenario{
	id: "H5c",
	text: "1000 callbacks that each send one more request, while the connection is killed under them. " +
		"No peer has callbacks.",
	columns:  []string{"first requests answered", "second requests answered", "missing"},
	oursOnly: true,
	stage: func() (*stage, error) {
		server, err := testbed.Start(testbed.Options{})
		if err != nil {
			return nil, err
		}
		return &stage{addr: server.Addr(), direct: server.Addr(), close: server.Close}, nil
	},
	act: sendFromCallbacks,
}

func sendFromCallbacks(a *act) error {
	conn, err := redisconn.Connect(context.Background(), a.Target.Addr, redisconn.Opts{
		Logger: redisconn.NoopLogger{}, Integrity: a.Target.Safest,
	})
	if err != nil {
		return err
	}
	const n = 1000
	var first, second atomic.Int64
	var wg sync.WaitGroup
	wg.Add(2 * n)
	for i := range n {
		if i == n/2 {
			if err := redis.AsError(redisdumb.Do(a.Direct, "CLIENT", "KILL", "TYPE", "normal")); err != nil {
				return err
			}
		}
		conn.Send(redis.Req("PING"), redis.FuncFuture(func(any, uint64) {
			first.Add(1)
			wg.Done()
			conn.Send(redis.Req("PING"), redis.FuncFuture(func(any, uint64) {
				second.Add(1)
				wg.Done()
			}), 0)
		}), 0)
	}
	within(patience, wg.Wait)
	conn.Close()
	return a.found(finding{Values: map[string]string{
		"first requests answered": fmt.Sprint(first.Load()), "second requests answered": fmt.Sprint(second.Load()),
		"missing": fmt.Sprint(2*n - first.Load() - second.Load()),
	}})
}
