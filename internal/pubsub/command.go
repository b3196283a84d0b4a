package pubsub

import (
	"math/rand/v2"
	"strconv"

	"github.com/joomcode/redispipe/redis"
)

// Command is one of a batch of commands that subscribe or unsubscribe. A PING of its own
// follows it: when that comes back, all that the server says to the command has come.
// By the order of what comes alone, a confirmation could not be told from the server's
// own unsubscription, nor to whom an error belongs.
type Command struct {
	Subscribe bool
	Topics    []Topic // of one kind and slot
	Err       error   // what the server answered instead of confirming
	fence     string
}

// commandMost bounds the topics of a command, and so how long the server serves nobody
// else: at 1 µs each, for 1 ms.
const commandMost = 1000

// Ask is a topic that is to be subscribed or unsubscribed, by a command of its own if it
// stands alone.
type Ask struct {
	Topic            Topic
	Subscribe, Alone bool
}

// Plan makes commands of asks, one for each kind and slot.
func Plan(asks []Ask) (list []*Command) {
	type like struct {
		kind      Kind
		subscribe bool
		slot      int
	}
	open := map[like]*Command{}
	for _, ask := range asks {
		of := like{ask.Topic.Kind, ask.Subscribe, SlotOf(ask.Topic)}
		cmd := open[of]
		if cmd == nil || ask.Alone || len(cmd.Topics) == commandMost {
			cmd = &Command{Subscribe: ask.Subscribe, fence: "fence-" + strconv.FormatUint(rand.Uint64(), 36)}
			list = append(list, cmd)
			if !ask.Alone {
				open[of] = cmd
			}
		}
		cmd.Topics = append(cmd.Topics, ask.Topic)
	}
	return list
}

// Flight are the commands that are not answered yet, oldest first. Its owner guards it.
type Flight []*Command

// Asks reports whether cmd is the oldest command, and subscribes, or unsubscribes.
func (f Flight) Asks(cmd *Command, subscribe bool) bool {
	return len(f) > 0 && f[0] == cmd && cmd.Subscribe == subscribe
}

// Take takes a reply: the error of the oldest command, or its fence. It returns the command
// when all answers to it have come.
func (f *Flight) Take(reply any) (answered *Command, err error) {
	if len(*f) == 0 {
		return nil, ErrStream.New("an unsolicited reply")
	}
	cmd := (*f)[0]
	if err := redis.AsError(reply); err != nil {
		if cmd.Err != nil {
			return nil, ErrStream.Wrap(err, "a second answer to one command")
		}
		cmd.Err = err
		return nil, nil
	}
	if echo, ok := reply.([]byte); !ok || string(echo) != cmd.fence {
		return nil, ErrStream.New("a fence was answered with something else")
	}
	*f = (*f)[1:]
	return cmd, nil
}

// Requests returns what is sent.
func (f Flight) Requests() (reqs []redis.Request) {
	for _, cmd := range f {
		args := make([]any, len(cmd.Topics))
		for i, t := range cmd.Topics {
			args[i] = t.Name
		}
		name := CommandOf(cmd.Topics[0].Kind, cmd.Subscribe)
		reqs = append(reqs, redis.Req(name, args...), redis.Req("PING", cmd.fence))
	}
	return reqs
}
