// Package command knows the commands of Redis and Valkey: which of their
// arguments are keys, and what they do to the connection that sends them.
//
// The table is generated from the COMMAND replies of live servers. gen/rules.go adds what COMMAND
// does not report. To add a server's commands, give its binary or address to the generator:
//
//	go run ./gen /path/to/valkey-server
package command

import "strings"

//go:generate go run ./gen redis-server

// Flags are properties of a command that don't depend on its arguments.
type Flags uint8

const (
	// ReadOnly is set if every server that knows the command says so.
	ReadOnly Flags = 1 << iota
	// Blocking commands may delay the replies of later requests.
	Blocking
	// Container commands do nothing without a subcommand: CLIENT, XINFO.
	Container
	// Subcommand is set on names of two words: CLIENT KILL.
	Subcommand
	// ReplicaSafe reads get the same answer from a replica as from a master, apart from the
	// replication lag.
	ReplicaSafe
)

// Class says what a command does to the connection that sends it.
type Class uint8

const (
	// Ordinary commands leave the connection as it was.
	Ordinary Class = iota
	// Blocks is the class of commands that may keep the connection waiting.
	Blocks
	// BlocksIfAsked commands block only with a BLOCK option: XREAD.
	BlocksIfAsked
	// Session commands change the state that later requests on the connection depend on: SELECT,
	// WATCH.
	Session
	// Protocol commands change the number or the form of replies, or end the connection: SUBSCRIBE,
	// CLIENT REPLY, QUIT.
	Protocol
	// Twice commands may be answered twice by Redis: SET. See TwiceWords.
	Twice
)

// Info describes a command.
type Info struct {
	// Name is in upper case. The name of a subcommand has two words: "XINFO STREAM".
	Name string
	*traits
}

// traits are the properties of a command other than its name.
type traits struct {
	Flags Flags
	Class Class
	keys  [maxSpecs]spec
	times []timeArg // the arguments that are durations
}

// group is a list of commands with the same traits.
type group struct {
	traits
	names []string
}

// Is reports whether any of the flags is set. It is false for a nil Info.
func (i *Info) Is(f Flags) bool {
	return i != nil && i.Flags&f != 0
}

// Reads reports whether the command changes nothing. It is false for a nil Info.
func (i *Info) Reads() bool { return i.Is(ReadOnly | ReplicaSafe) }

// Named reports whether the command has that name, in upper case. It is false for a nil Info.
func (i *Info) Named(name string) bool { return i != nil && i.Name == name }

// maxName bounds the names that Lookup can find.
const maxName = 32

// indexSize is a power of two. It is more than twice the size of the table, so that two probes find
// nearly every name.
const indexSize = 2048

// table has the commands of all groups. index is a hash table of their names with linear probing:
// it holds positions in table plus one, and zero for none. Both are read-only after the package is
// initialized.
var (
	table [tableSize]Info
	index [indexSize]uint16
)

func init() {
	i := 0
	for k := range groups {
		g := &groups[k]
		for _, name := range g.names {
			table[i] = Info{name, &g.traits}
			h := hash(name)
			for index[h] != 0 {
				h = (h + 1) % indexSize
			}
			i++
			index[h] = uint16(i)
		}
	}
}

// Lookup finds a command by its name, in any case. The name has one word, or two words with one
// space between them. It returns nil for a name that is not in the table.
func Lookup(name string) *Info {
	if name == "" || len(name) > maxName {
		return nil
	}
	for h := hash(name); index[h] != 0; h = (h + 1) % indexSize {
		if i := &table[index[h]-1]; name == i.Name || equalFold(name, i.Name) {
			return i
		}
	}
	return nil
}

// hash returns the place of a name, in any case, in the index. It uses five letters, which
// distinguish most names.
func hash(name string) uint32 {
	n := len(name)
	h := uint32(n)
	for _, i := range [...]int{0, n / 4, n / 2, n * 3 / 4, n - 1} {
		h = h*431 ^ uint32(name[i]&^0x20) // in upper case
	}
	return h % indexSize
}

// Call is a command together with its arguments. The arguments distinguish, for example, an XREAD
// with BLOCK from one without. A Call is used once and must not outlive the arguments.
type Call struct {
	// Info describes the subcommand if there is one. It is nil for a command that is not in the
	// table.
	*Info
	args []any
	// shift is 1 if the second word of Cmd is sent as an argument before args.
	shift int
	// word is that second word, unless the table has the two-word name.
	word string
	// malformed: Cmd can't be the name of a command.
	malformed bool
}

// Of returns the Call for cmd with args. cmd may contain the subcommand, or any other first
// argument, after one space. Of does not allocate.
func Of(cmd string, args []any) Call {
	c := Call{args: args}
	c.resolve(cmd)
	return c
}

// resolve finds the command. Of does nothing else, so that Of is inlined and no Call is copied.
func (c *Call) resolve(cmd string) {
	c.Info = Lookup(cmd)
	switch {
	case c.Info == nil:
		c.split(cmd)
	case c.Flags&(Subcommand|Container) == 0:
	case c.Is(Subcommand):
		c.shift = 1
	case len(c.args) > 0:
		c.descend(c.args[0])
	}
}

// split handles a Cmd of two words that is not in the table as a whole.
func (c *Call) split(cmd string) {
	c.malformed = !wellFormed(cmd)
	first, rest, two := strings.Cut(cmd, " ")
	if !two || c.malformed {
		return
	}
	c.Info, c.word, c.shift = Lookup(first), rest, 1
}

// descend replaces the Info of a container by that of its subcommand, if the table has the
// subcommand.
func (c *Call) descend(sub any) {
	var word string
	switch sub := sub.(type) {
	case string:
		word = sub
	case []byte:
		word = string(sub[:min(len(sub), maxName)])
	}
	if len(word) < maxName-len(c.Name) { // a longer name is not in the table, and converting it to a string would allocate
		if info := Lookup(c.Name + " " + word); info != nil {
			c.Info = info
		}
	}
}

// wellFormed reports whether Cmd is one or two words of printable bytes with one space between
// them.
func wellFormed(cmd string) bool {
	if cmd == "" || cmd[0] == ' ' || cmd[len(cmd)-1] == ' ' {
		return false
	}
	spaces := 0
	for i := range len(cmd) {
		switch b := cmd[i]; {
		case b == ' ':
			spaces++
		case b < ' ' || b == 0x7f:
			return false
		}
	}
	return spaces <= 1
}

// Verdict says whether a call may be sent, and if not, why.
type Verdict uint8

const (
	// Allowed calls may be sent.
	Allowed Verdict = iota
	// Malformed calls have a Cmd that is empty or can't be the name of a command.
	Malformed
	// WouldBlock calls would keep the other users of a shared connection waiting.
	WouldBlock
	// ChangesSession calls would change the results of other users of a shared connection.
	ChangesSession
	// ChangesProtocol calls are refused on every connection, because they break the pairing of
	// requests and replies.
	ChangesProtocol
)

// Verdict returns whether the call may be sent. On a connection with a single user (ScriptMode), a
// call may block and change the state, but not the protocol.
func (c *Call) Verdict(singleUser bool) Verdict {
	if c.Info != nil && c.Class == Ordinary {
		return Allowed
	}
	return c.verdict(singleUser)
}

// verdict is Verdict for commands whose arguments matter.
func (c *Call) verdict(singleUser bool) Verdict {
	switch {
	case c.malformed:
		return Malformed
	case c.Info == nil:
		return Allowed
	case c.Class == Twice && !c.answeredTwice():
		return Allowed
	case c.Class == Protocol, c.Class == Twice:
		return ChangesProtocol
	case singleUser:
		return Allowed
	case c.Class == Session:
		return ChangesSession
	case c.Class == BlocksIfAsked && c.readOption("BLOCK") == 0:
		return Allowed
	}
	return WouldBlock
}
