package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/joomcode/redispipe/redistest/chaos"
)

const usage = `  freeze                      hold everything back, and lose nothing
  cut BYTES                   end each connection after so many bytes of replies
  half-open                   let the other side of all present connections vanish
  black-hole DIRECTION        lose requests, replies or both
  slow BYTES TIME             pass so many bytes of replies per time: slow 10 100ms
  reset-after TEXT            reset a connection before the reply to a request with the text, once
  loading, readonly,          refuse what such a server refuses
  cluster-down
  moved [HOST:PORT]           answer keys with MOVED, by default to redischaos itself
  refuse CODE TEXT            answer every command with this error
  down, up                    reset new connections; let them in again
  heal                        end all faults
  stats                       show counters
`

// do executes a command and returns its answer.
func do(proxy *chaos.Proxy, command string) (answer string, err error) {
	words := strings.Fields(command)
	if len(words) == 0 {
		return "", errors.New("no command")
	}
	switch words[0] {
	case "heal":
		proxy.Heal()
	case "down", "up":
		proxy.Refuse(words[0] == "down")
	case "stats":
		s := proxy.Stats()
		return fmt.Sprintf("connections %d, open %d, requests %d, replies %d, faults %v", s.Accepted, s.Open, s.Requests, s.Replies, s.Faults), nil
	default:
		fault, err := parse(words[0], words[1:], proxy.Addr())
		if err != nil {
			return "", err
		}
		proxy.Arm(fault)
	}
	return "ok: " + strings.Join(words, " "), nil
}

// parse returns the fault that a command arms.
func parse(name string, args []string, self string) (chaos.Fault, error) {
	arg := append(args, "", "")
	switch name {
	case "freeze":
		return chaos.Freeze(), nil
	case "cut":
		n, err := strconv.ParseUint(arg[0], 10, 62)
		if err != nil {
			return chaos.Fault{}, fmt.Errorf("cut: want a number of bytes, not %q", arg[0])
		}
		return chaos.CutAfter(int64(n)), nil
	case "half-open":
		return chaos.HalfOpen(), nil
	case "black-hole":
		for _, d := range []chaos.Direction{chaos.Requests, chaos.Replies, chaos.Both} {
			if arg[0] == d.String() {
				return chaos.BlackHole(d), nil
			}
		}
		return chaos.Fault{}, fmt.Errorf("black-hole: want requests, replies or both, not %q", arg[0])
	case "slow":
		n, err := strconv.Atoi(arg[0])
		interval, err2 := time.ParseDuration(arg[1])
		if err != nil || err2 != nil || n < 1 || interval < 0 {
			return chaos.Fault{}, fmt.Errorf("slow: want a number of bytes and a time, such as 10 100ms, not %q", strings.Join(args, " "))
		}
		return chaos.SlowReplies(n, interval), nil
	case "reset-after":
		if len(args) == 0 {
			return chaos.Fault{}, errors.New("reset-after: want a text")
		}
		return chaos.ResetAfterExecution(strings.Join(args, " ")), nil
	case "loading":
		return chaos.Loading(), nil
	case "readonly":
		return chaos.ReadOnly(), nil
	case "cluster-down":
		return chaos.ClusterDown(), nil
	case "moved":
		if arg[0] == "" {
			arg[0] = self
		}
		return chaos.MovedStorm(arg[0]), nil
	case "refuse":
		if len(args) == 0 {
			return chaos.Fault{}, errors.New("refuse: want an error, such as TRYAGAIN later")
		}
		return chaos.Refusing(strings.Join(args, " "), func([]string) bool { return true }), nil
	}
	return chaos.Fault{}, fmt.Errorf("unknown command %q", name)
}
