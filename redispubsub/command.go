package redispubsub

import (
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/joomcode/redispipe/redis"
)

// command is one of a batch of commands that subscribe or unsubscribe. A PING of its own
// follows it: when that comes back, all that the server says to the command has come.
// By the order of what comes alone, a confirmation could not be told from the server's
// own unsubscription, nor to whom an error belongs.
type command struct {
	kind      Kind
	subscribe bool
	topics    []*topic
	fence     string
	err       error // what the server answered instead of confirming
}

// commandMost bounds the topics of a command, and so how long the server serves nobody
// else: at 1 µs each, for 1 ms.
const commandMost = 1000

// plan makes commands for topics that are to be changed: one for each kind and slot.
func plan(dirty map[*topic]struct{}, now time.Time) []*command {
	type group struct {
		kind      Kind
		subscribe bool
		slot      int
	}
	var list []*command
	open := map[group]*command{}
	for t := range dirty {
		g := group{t.key.Kind, len(t.members) > 0, t.key.slot()}
		cmd := open[g]
		if cmd == nil || t.alone || len(cmd.topics) == commandMost {
			cmd = &command{kind: g.kind, subscribe: g.subscribe, fence: "fence-" + strconv.FormatUint(rand.Uint64(), 36)}
			list = append(list, cmd)
			if !t.alone {
				open[g] = cmd
			}
		}
		cmd.topics = append(cmd.topics, t)
		t.asked, t.confirmed = cmd, false
		if cmd.subscribe {
			t.since = now
		}
	}
	return list
}

func (c *command) requests() []redis.Request {
	name := kinds[c.kind].unsubscribe
	if c.subscribe {
		name = kinds[c.kind].subscribe
	}
	args := make([]any, len(c.topics))
	for i, t := range c.topics {
		args[i] = t.key.Name
	}
	return []redis.Request{redis.Req(name, args...), redis.Req("PING", c.fence)}
}
