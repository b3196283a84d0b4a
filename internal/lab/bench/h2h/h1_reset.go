package h2h

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/joomcode/redispipe/redisdumb"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// resetCallers callers push to a list each. The network resets a connection every resetEvery.
const (
	resetCallers = 32
	resetEvery   = 40 * time.Millisecond
)

var resetAfterExecution = scenario{
	id: "H1",
	text: "Connections reset (RST) before a reply that the server had already sent, again and again, while " +
		"32 goroutines each push numbers to a list of their own. The lists say what was executed.",
	columns: []string{
		"requests", "acknowledged", "errors", "executed twice", "acknowledged and lost",
		"“not sent”, though executed", "“not sent”, of those that never left",
	},
	stage: func() (*stage, error) {
		server, err := testbed.Start(testbed.Options{})
		if err != nil {
			return nil, err
		}
		proxy, err := chaos.ListenProxy(server.Addr(), chaos.ProxyOpts{Seed: 1, LogLimit: 10_000_000})
		if err != nil {
			server.Close()
			return nil, err
		}
		return &stage{
			addr: proxy.Addr(), direct: server.Addr(),
			fault: func(done <-chan struct{}) { resetAgainAndAgain(proxy, done) },
			score: func(f *finding) { scoreNotSent(f, proxy.Log()) },
			close: func() {
				proxy.Close()
				server.Close()
			},
		}, nil
	},
	act: pushAndCompare,
}

// resetAgainAndAgain resets one connection at a time, before a reply.
func resetAgainAndAgain(proxy *chaos.Proxy, done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-time.After(resetEvery):
			proxy.Arm(chaos.Fault{
				Do: chaos.Reset, On: chaos.Replies, At: chaos.AtChance(0.05),
			})
		}
	}
}

// pushAndCompare pushes IDs, and then reads the lists from the server directly.
func pushAndCompare(a *act) error {
	s, err := a.open()
	if err != nil {
		return err
	}
	if err := a.ready(); err != nil {
		return err
	}
	var mu sync.Mutex // guards the three variables below
	acknowledged := map[string]bool{}
	var refused []refusal
	requests := 0

	var wg sync.WaitGroup
	end := time.Now().Add(a.Duration)
	for g := range resetCallers {
		wg.Go(func() {
			for i := 0; time.Now().Before(end); i++ {
				id := fmt.Sprintf("id:%d:%d:", g, i)
				ctx, cancel := deadline(2 * time.Second)
				_, err := s.Do(ctx, "RPUSH", "log:"+strconv.Itoa(g), id)
				cancel()
				mu.Lock()
				requests++
				if err == nil {
					acknowledged[id] = true
				} else {
					refused = append(refused, refusal{id, a.promised(err)})
				}
				mu.Unlock()
				if err != nil {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	wg.Wait()
	// Requests from before the last reset may still be on their way.
	time.Sleep(200 * time.Millisecond)
	executed, err := readLists(a.Direct)
	if err != nil {
		return err
	}
	twice, lost, falsely := 0, 0, 0
	for _, n := range executed {
		if n > 1 {
			twice += n - 1
		}
	}
	for id := range acknowledged {
		if executed[id] == 0 {
			lost++
		}
	}
	for _, r := range refused {
		if r.NotSent && executed[r.ID] > 0 {
			falsely++
		}
	}
	values := map[string]string{
		"requests": fmt.Sprint(requests), "acknowledged": fmt.Sprint(len(acknowledged)),
		"errors": fmt.Sprint(len(refused)), "executed twice": fmt.Sprint(twice),
		"acknowledged and lost": fmt.Sprint(lost),
	}
	if a.entry.notSent != nil {
		values["“not sent”, though executed"] = fmt.Sprint(falsely)
	}
	return a.found(finding{Values: values, Refused: refused})
}

// readLists counts how often each id is in its list.
func readLists(addr string) (map[string]int, error) {
	conn := &redisdumb.Conn{Addr: addr}
	defer conn.Close()
	executed := map[string]int{}
	for g := range resetCallers {
		switch list := conn.Do("LRANGE", "log:"+strconv.Itoa(g), 0, -1).(type) {
		case []any:
			for _, id := range list {
				executed[string(id.([]byte))]++
			}
		case error:
			return nil, list
		}
	}
	return executed, nil
}

// scoreNotSent counts the failed requests of which the proxy saw no byte, and those among them that
// the client reported as not sent.
func scoreNotSent(f *finding, log []chaos.LoggedRequest) {
	if _, promises := f.Values["“not sent”, though executed"]; !promises {
		return
	}
	seen := map[string]bool{}
	for _, r := range log {
		if i := strings.Index(r.Head, "id:"); i >= 0 {
			id, _, _ := strings.Cut(r.Head[i:], "\r")
			seen[id] = true
		}
	}
	never, called := 0, 0
	for _, r := range f.Refused {
		if !seen[r.ID] {
			never++
			if r.NotSent {
				called++
			}
		}
	}
	f.Values["“not sent”, of those that never left"] = fmt.Sprintf("%d of %d", called, never)
}
