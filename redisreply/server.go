package redisreply

import (
	"strings"
	"time"

	"github.com/joomcode/redispipe/redis"
)

// Info is the reply to INFO: the fields of each section. The keys are the section names that INFO
// accepts, in lower case:
//
//	info["server"]["redis_version"]
//
// Fields before the first section are in the section "".
type Info map[string]map[string]string

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (i *Info) UnmarshalRedis(res any) error {
	text, err := redis.As[string](res)
	if err != nil {
		return err
	}
	info, section := Info{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if name, begins := strings.CutPrefix(line, "#"); begins {
			section = strings.ToLower(strings.TrimSpace(name))
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		if info[section] == nil {
			info[section] = map[string]string{}
		}
		info[section][name] = value
	}
	*i = info
	return nil
}

// Client is a client of a server: an element of [Clients]. Redis has LocalAddr and User from
// 6.2 on, Protocol from 7.0 on, and Library and LibraryVersion from 7.2 on.
type Client struct {
	ID        int64         `redis:"id"`
	Addr      string        `redis:"addr"`
	LocalAddr string        `redis:"laddr,omitempty"`
	Name      string        `redis:"name,omitempty"`
	Age       time.Duration `redis:"age,s"`
	Idle      time.Duration `redis:"idle,s"`
	// Flags are letters. N means that there are none: see CLIENT LIST in the Redis documentation.
	Flags string `redis:"flags,omitempty"`
	DB    int    `redis:"db"`
	// Subscriptions and PatternSubscriptions are the numbers of channels and patterns.
	Subscriptions        int64 `redis:"sub,omitempty"`
	PatternSubscriptions int64 `redis:"psub,omitempty"`
	// Multi is the number of commands in a transaction, and -1 outside of one.
	Multi int64 `redis:"multi,omitempty"`
	// Memory is in bytes.
	Memory int64 `redis:"tot-mem,omitempty"`
	// Command is the last command, with its subcommand after a |.
	Command        string `redis:"cmd,omitempty"`
	User           string `redis:"user,omitempty"`
	Protocol       int    `redis:"resp,omitempty"`
	Library        string `redis:"lib-name,omitempty"`
	LibraryVersion string `redis:"lib-ver,omitempty"`
}

// Clients is the reply to CLIENT LIST, and to CLIENT INFO, which has one element.
type Clients []Client

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (c *Clients) UnmarshalRedis(res any) error {
	text, err := redis.As[string](res)
	if err != nil {
		return err
	}
	clients := Clients{}
	for line := range strings.Lines(text) {
		var pairs []any
		for field := range strings.FieldsSeq(line) {
			name, value, named := strings.Cut(field, "=")
			switch {
			case named:
				pairs = append(pairs, name, value)
			case len(pairs) > 0: // the path of a unix socket may contain spaces
				pairs[len(pairs)-1] = pairs[len(pairs)-1].(string) + " " + field
			}
		}
		client, err := redis.As[Client](pairs)
		if err != nil {
			return err
		}
		clients = append(clients, client)
	}
	*c = clients
	return nil
}

// SlowCommand is an element of the reply to SLOWLOG GET.
type SlowCommand struct {
	ID   int64
	Time time.Time     `redis:",unix"`
	Took time.Duration `redis:",us"`
	// Args are the command and its arguments, which the server truncates if they are long.
	// They may be users' data.
	Args []string
	// Addr and Name are the client's address and name.
	Addr string `redis:",omitempty"`
	Name string `redis:",omitempty"`
}

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (s *SlowCommand) UnmarshalRedis(res any) error {
	type plain SlowCommand
	return inOrder((*plain)(s), res)
}

// LoggedCommand is an element of the reply to COMMANDLOG GET.
type LoggedCommand struct {
	ID   int64
	Time time.Time `redis:",unix"`
	// Amount is the duration of a slow command in microseconds, or the size of a large request or reply
	// in bytes.
	Amount int64
	// Args, Addr and Name are as in [SlowCommand].
	Args []string
	Addr string `redis:",omitempty"`
	Name string `redis:",omitempty"`
}

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (c *LoggedCommand) UnmarshalRedis(res any) error {
	type plain LoggedCommand
	return inOrder((*plain)(c), res)
}

// Command is an element of the reply to COMMAND. Redis has Categories from 6.0 on, and Tips
// and Subcommands from 7.0 on.
type Command struct {
	Name string
	// Arity is the number of arguments, including the name. It is negative if there may be more.
	Arity int
	Flags []string
	// FirstKey, LastKey and KeyStep tell which arguments are keys. A negative LastKey counts from
	// the end.
	FirstKey, LastKey, KeyStep int
	Categories                 []string
	Tips                       []string
	// KeySpecifications has the server's data unchanged.
	KeySpecifications []any
	Subcommands       []Command
}

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (c *Command) UnmarshalRedis(res any) error {
	type plain Command
	return inOrder((*plain)(c), res)
}
