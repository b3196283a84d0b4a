package h2h

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// poisonCallers read their own keys for poisonTime. Half of them start before the poison and half
// after it, so that a pool can't leave the poisoned connection unused.
const (
	poisonCallers = 16
	poisonTime    = time.Second
	poisonCall    = 500 * time.Millisecond
)

// poison is a command that one caller sends, or a fault of the stream.
type poison struct {
	name string
	args []string
	do   chaos.Action
}

func poisons() []poison {
	return []poison{
		{name: "CLIENT REPLY SKIP", args: []string{"CLIENT", "REPLY", "SKIP"}},
		{name: "CLIENT REPLY OFF", args: []string{"CLIENT", "REPLY", "OFF"}},
		{name: "SELECT 1", args: []string{"SELECT", "1"}},
		{name: "MULTI", args: []string{"MULTI"}},
		{name: "SUBSCRIBE", args: []string{"SUBSCRIBE", "channel"}},
		{name: "a reply inserted", do: chaos.Insert},
		{name: "a reply deleted", do: chaos.Delete},
	}
}

// poisoned returns a scenario for each poison.
func poisoned() []scenario {
	var out []scenario
	for i, p := range poisons() {
		s := scenario{
			id: fmt.Sprintf("H4%c", 'a'+i),
			text: "One caller sends `" + p.name + "`, while 16 goroutines read keys and echoes of their own " +
				"through the same client, for a second.",
			columns: []string{"answers", "wrong answers", "errors", "the poison was"},
			stage:   func() (*stage, error) { return poisonStage(p) },
			act:     func(a *act) error { return drinkPoison(a, p) },
		}
		if p.do != "" {
			s.text = "The stream has " + p.name + ", while 16 goroutines read keys and echoes of their own, for a second."
			s.columns = s.columns[:3]
		}
		out = append(out, s)
	}
	return out
}

func poisonStage(p poison) (*stage, error) {
	server, err := testbed.Start(testbed.Options{})
	if err != nil {
		return nil, err
	}
	proxy, err := chaos.ListenProxy(server.Addr(), chaos.ProxyOpts{Seed: 1, LogLimit: -1})
	if err != nil {
		server.Close()
		return nil, err
	}
	st := &stage{addr: proxy.Addr(), direct: server.Addr(), close: func() {
		proxy.Close()
		server.Close()
	}}
	if p.do != "" {
		st.fault = func(<-chan struct{}) {
			proxy.Arm(chaos.Fault{
				Do: p.do, On: chaos.Replies, At: chaos.AtChance(0.2), Bytes: []byte("$6\r\nforged\r\n"),
			})
		}
	}
	return st, nil
}

func drinkPoison(a *act, p poison) error {
	s, err := a.open()
	if err != nil {
		return err
	}
	for g := range poisonCallers {
		ctx, cancel := deadline(openTimeout)
		_, err := s.Do(ctx, "SET", fmt.Sprint("key:", g), fmt.Sprint("value:", g))
		cancel()
		if err != nil {
			return err
		}
	}
	if err := a.ready(); err != nil {
		return err
	}
	var answers, wrong, failed atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	ask := func(want string, args ...string) {
		ctx, cancel := deadline(poisonCall)
		defer cancel()
		switch got, err := s.Do(ctx, args...); {
		case err != nil:
			failed.Add(1)
			time.Sleep(time.Millisecond)
		case got != any(want):
			wrong.Add(1)
		default:
			answers.Add(1)
		}
	}
	caller := func(g int) {
		for i := 0; !stop.Load(); i++ {
			ask(fmt.Sprint("value:", g), "GET", fmt.Sprint("key:", g))
			id := fmt.Sprintf("%d:%d", g, i)
			ask(id, "ECHO", id)
		}
	}
	for g := range poisonCallers / 2 {
		wg.Go(func() { caller(g) })
	}
	time.Sleep(200 * time.Millisecond)
	values := map[string]string{}
	if p.args != nil {
		values["the poison was"] = administer(s, p.args)
	}
	for g := range poisonCallers / 2 {
		wg.Go(func() { caller(g + poisonCallers/2) })
	}
	time.Sleep(poisonTime)
	stop.Store(true)
	if _, ended := within(patience, wg.Wait); !ended {
		values["errors"] = "callers hang"
	} else {
		values["errors"] = fmt.Sprint(failed.Load())
	}
	values["answers"], values["wrong answers"] = fmt.Sprint(answers.Load()), fmt.Sprint(wrong.Load())
	return a.found(finding{Values: values})
}

// administer sends the poison and describes the result. The time-out of the socket may come
// slightly before that of the context.
func administer(s Subject, args []string) string {
	ctx, cancel := deadline(poisonCall)
	defer cancel()
	begin := time.Now()
	_, err := s.Do(ctx, args...)
	switch {
	case err == nil:
		return "taken"
	case time.Since(begin) > poisonCall*9/10:
		return "taken, without an answer"
	default:
		return "refused"
	}
}
