package h2h

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/redisdumb"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

const (
	// slowCallers make calls with deadlines of slowDeadline.
	slowCallers  = 1000
	slowDeadline = 50 * time.Millisecond
	// slowValue is the size of the values that they fetch.
	slowValue = 16 << 10
	// slowBegins is when the fault begins, under full load. Only calls that return after slowCounts
	// count.
	slowBegins = 200 * time.Millisecond
	slowCounts = 500 * time.Millisecond
)

var frozen = scenario{
	id: "H2a",
	text: "The server is frozen (SIGSTOP) under 1000 goroutines that call with a deadline of 50 ms: " +
		"a GET of 16 KiB and a SET of as much in turn.",
	columns: slowColumns,
	stage: func() (*stage, error) {
		return slowStage(func(server *testbed.Server, _ *chaos.Proxy) { _ = server.Pause() })
	},
	act: callWithDeadlines,
}

var trickling = scenario{
	id:      "H2b",
	text:    "The same, with replies that trickle: a byte each 10 ms.",
	columns: slowColumns,
	stage: func() (*stage, error) {
		return slowStage(func(_ *testbed.Server, proxy *chaos.Proxy) {
			proxy.Arm(chaos.Fault{
				Do: chaos.Trickle, On: chaos.Replies, At: chaos.Now(), Times: -1,
			})
		})
	},
	act: callWithDeadlines,
}

var slowColumns = []string{"calls", "longest", "over 70 ms", "never returned", "peak memory MiB", "peak goroutines"}

func slowStage(slow func(*testbed.Server, *chaos.Proxy)) (*stage, error) {
	server, err := testbed.Start(testbed.Options{})
	if err != nil {
		return nil, err
	}
	proxy, err := chaos.ListenProxy(server.Addr(), chaos.ProxyOpts{LogLimit: -1})
	if err != nil {
		server.Close()
		return nil, err
	}
	if err, ok := redisdumb.Do(server.Addr(), "SET", "big", strings.Repeat("v", slowValue)).(error); ok {
		server.Close()
		return nil, err
	}
	return &stage{
		addr: proxy.Addr(), direct: server.Addr(),
		fault: func(done <-chan struct{}) {
			select {
			case <-time.After(slowBegins):
				slow(server, proxy)
			case <-done:
			}
		},
		close: func() {
			proxy.Close()
			server.Close()
		},
	}, nil
}

func callWithDeadlines(a *act) error {
	s, err := a.open()
	if err != nil {
		return err
	}
	ctx, cancel := deadline(openTimeout)
	_, err = s.Do(ctx, "PING")
	cancel()
	if err != nil {
		return err
	}
	if err := a.ready(); err != nil {
		return err
	}
	var calls, over, longest, left atomic.Int64
	value := strings.Repeat("v", slowValue)
	counts, end := time.Now().Add(slowCounts), time.Now().Add(slowCounts+a.Duration)
	var wg sync.WaitGroup
	for g := range slowCallers {
		wg.Go(func() {
			left.Add(1)
			defer left.Add(-1)
			for i := g; time.Now().Before(end); i++ {
				ctx, cancel := deadline(slowDeadline)
				begin := time.Now()
				if i%2 == 0 {
					_, _ = s.Do(ctx, "GET", "big")
				} else {
					_, _ = s.Do(ctx, "SET", "big", value)
				}
				took := time.Since(begin)
				cancel()
				// If a client refuses requests at once, the callers must not spin.
				time.Sleep(max(0, 5*time.Millisecond-took))
				if begin.Add(took).Before(counts) {
					continue
				}
				calls.Add(1)
				if took > slowDeadline+20*time.Millisecond {
					over.Add(1)
				}
				for old := longest.Load(); int64(took) > old && !longest.CompareAndSwap(old, int64(took)); {
					old = longest.Load()
				}
			}
		})
	}
	memory, goroutines := watch(end)
	_, ended := within(patience, wg.Wait)
	values := map[string]string{
		"calls": fmt.Sprint(calls.Load()), "longest": short(time.Duration(longest.Load())),
		"over 70 ms":     fmt.Sprintf("%.1f %%", 100*float64(over.Load())/max(1, float64(calls.Load()))),
		"never returned": "0", "peak memory MiB": fmt.Sprint(memory >> 20), "peak goroutines": fmt.Sprint(goroutines),
	}
	if !ended {
		values["never returned"] = fmt.Sprint(left.Load())
	}
	return a.found(finding{Values: values})
}

// watch samples, until end, the number of goroutines, and the memory that the process has obtained
// from the system and not returned. It returns the greatest values.
func watch(end time.Time) (memory uint64, goroutines int) {
	for time.Now().Before(end) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		memory = max(memory, m.Sys-m.HeapReleased)
		goroutines = max(goroutines, runtime.NumGoroutine())
		time.Sleep(50 * time.Millisecond)
	}
	return memory, goroutines
}

// short formats a duration for a table.
func short(d time.Duration) string {
	switch {
	case d > 10*time.Second:
		return d.Round(time.Second).String()
	case d > time.Second:
		return d.Round(100 * time.Millisecond).String()
	default:
		return d.Round(time.Millisecond).String()
	}
}
