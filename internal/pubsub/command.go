package pubsub

import (
	"math/rand/v2"
	"strconv"

	"github.com/joomcode/redispipe/redis"
)

// Command subscribes or unsubscribes topics. A PING with its own argument follows each Command: the
// echo shows that the server has answered the Command completely. The order of replies alone does
// not show that, because a server may unsubscribe topics without a command, and errors name no
// topic.
type Command struct {
	Subscribe bool
	Topics    []Topic // all of one kind and slot
	Err       error   // the server's answer, if that is an error
	fence     string
}

// commandMost bounds the topics of a command, so that one command does not keep the server busy for
// long.
const commandMost = 1000

// Ask is a topic to subscribe or unsubscribe. If Alone is set, the topic gets its own command.
type Ask struct {
	Topic            Topic
	Subscribe, Alone bool
}

// Plan turns asks into commands. Topics of the same kind and slot share a command.
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

// Flight are the unanswered commands, oldest first. The owner guards it.
type Flight []*Command

// Asks reports whether cmd is the oldest command and subscribes or unsubscribes as subscribe says.
func (f Flight) Asks(cmd *Command, subscribe bool) bool {
	return len(f) > 0 && f[0] == cmd && cmd.Subscribe == subscribe
}

// Take handles a reply: an error of the oldest command, or the echo of its PING. It returns the
// command once it has been answered completely.
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
		return nil, ErrStream.New("unexpected answer to a fence")
	}
	*f = (*f)[1:]
	return cmd, nil
}

// Requests returns the requests that send the commands.
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
