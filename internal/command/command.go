// Package command knows the commands of Redis and Valkey: which of their
// arguments are keys, and what they do to the connection that sends them.
//
// The table is generated out of the COMMAND replies of live servers; what
// COMMAND does not tell stands in gen/rules.go. To add a server's commands,
// give its binary or address to the generator:
//
//	go run ./gen /path/to/valkey-server
package command

import "strings"

//go:generate go run ./gen redis-server

// Flags tell what a command is, whatever its arguments are.
type Flags uint8

const (
	// ReadOnly is set where every server that knows the command says so.
	ReadOnly Flags = 1 << iota
	// Blocking commands may hold back the replies of the requests behind them.
	Blocking
	// Container commands do nothing without a subcommand: CLIENT, XINFO.
	Container
	// Subcommand is set on names of two words: CLIENT KILL.
	Subcommand
	// ReplicaSafe reads answer on a replica as on a master, but for the lag.
	ReplicaSafe
)

// Class tells what a command does to the connection that sends it.
type Class uint8

const (
	// Ordinary commands leave the connection as it was.
	Ordinary Class = iota
	// Blocks is the class of commands that may keep the connection waiting.
	Blocks
	// BlocksIfAsked is the same, but only with a BLOCK option: XREAD.
	BlocksIfAsked
	// Session commands change the state of the connection that later requests
	// meet: SELECT, WATCH.
	Session
	// Protocol commands change how many replies follow, or of which form, or
	// end the connection: SUBSCRIBE, CLIENT REPLY, QUIT.
	Protocol
	// Twice is the class of commands that Redis may answer twice: SET. See TwiceWords.
	Twice
)

// Info describes a command.
type Info struct {
	// Name is in upper case. A subcommand's is of two words: "XINFO STREAM".
	Name  string
	Flags Flags
	Class Class
	keys  [maxSpecs]spec
	times []timeArg // those that are durations
}

// group is commands that are alike but for their names.
type group struct {
	like  Info
	names []string
}

// Is reports whether any of the flags is set. It is false for a nil Info.
func (i *Info) Is(f Flags) bool {
	return i != nil && i.Flags&f != 0
}

// Named reports whether the command has that name, in upper case. It is false for a nil Info.
func (i *Info) Named(name string) bool { return i != nil && i.Name == name }

// maxName bounds the names that Lookup can find.
const maxName = 32

// indexSize is a power of two, large enough that the table fills less than a
// half of it and so two probes find nearly every name.
const indexSize = 2048

// table has the commands of all groups, and index is a hash table of their names with linear
// probing: positions in table plus one, and zero for none. Both are only read after the package's
// initialization.
var table, index = func() (t [tableSize]Info, idx [indexSize]uint16) {
	i := 0
	for _, g := range groups {
		for _, name := range g.names {
			t[i] = g.like
			t[i].Name = name
			h := hash(name)
			for idx[h] != 0 {
				h = (h + 1) % indexSize
			}
			i++
			idx[h] = uint16(i)
		}
	}
	return t, idx
}()

// Lookup finds a command by its name, of one word or of two with one space
// between, in any case. It returns nil for a name that the table lacks.
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

// hash is the place in the index of a name, in any case. It looks at five letters, which
// tell most names apart.
func hash(name string) uint32 {
	n := len(name)
	h := uint32(n)
	for _, i := range [...]int{0, n / 4, n / 2, n * 3 / 4, n - 1} {
		h = h*431 ^ uint32(name[i]&^0x20) // in upper case
	}
	return h % indexSize
}

// Call is a command together with its arguments, that is what tells an XREAD
// with BLOCK from one without, or CLIENT REPLY from CLIENT LIST. It is made for
// one look and does not outlive the arguments.
type Call struct {
	// Info is the subcommand's where there is one, and nil for a command that
	// the table lacks.
	*Info
	args []any
	// shift is 1 if the second word of Cmd is sent as an argument before args.
	shift int
	// word is that second word, but for names of two words that the table has.
	word string
	// malformed: Cmd is not what a command's name may be.
	malformed bool
}

// Of finds the command that cmd with args is. cmd may hold the subcommand, or
// any first argument, after one space. It allocates nothing.
func Of(cmd string, args []any) Call {
	c := Call{args: args}
	c.resolve(cmd)
	return c
}

// resolve finds the command. It is all that Of does, so that Of is inlined and no Call is
// copied.
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

// split handles a Cmd that is not in the table as it is.
func (c *Call) split(cmd string) {
	c.malformed = !wellFormed(cmd)
	first, rest, two := strings.Cut(cmd, " ")
	if !two || c.malformed {
		return
	}
	c.Info, c.word, c.shift = Lookup(first), rest, 1
}

// descend replaces a container's Info by that of its subcommand, if known.
func (c *Call) descend(sub any) {
	var word string
	switch sub := sub.(type) {
	case string:
		word = sub
	case []byte:
		word = string(sub[:min(len(sub), maxName)])
	}
	if len(word) < maxName-len(c.Name) { // a longer name is unknown, and would be allocated
		if info := Lookup(c.Name + " " + word); info != nil {
			c.Info = info
		}
	}
}

// wellFormed: one or two words of printable bytes with one space between.
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

// Verdict reports whether a call may be sent, and if not, why.
type Verdict uint8

const (
	// Allowed calls may be sent.
	Allowed Verdict = iota
	// Malformed calls have a Cmd that is empty or can't be a command's name.
	Malformed
	// WouldBlock calls keep all the others of a shared connection waiting.
	WouldBlock
	// ChangesSession calls change what others of a shared connection get.
	ChangesSession
	// ChangesProtocol calls are refused on any connection: nothing that pairs
	// requests with replies survives them.
	ChangesProtocol
)

// Describe returns what a sender has to know of the call: whether it may be sent on a connection
// that is shared, whether a replica may answer it, and whether it changes nothing.
func (c *Call) Describe() (shared Verdict, replicaSafe, readOnly bool) {
	replicaSafe = c.Is(ReplicaSafe)
	return c.Verdict(false), replicaSafe, replicaSafe || c.Is(ReadOnly)
}

// Verdict decides on the call. A connection of a single user (ScriptMode) may
// block, and change its state, but not the protocol.
func (c *Call) Verdict(singleUser bool) Verdict {
	if c.Info != nil && c.Class == Ordinary {
		return Allowed
	}
	return c.verdict(singleUser)
}

// verdict is Verdict where the name alone does not decide.
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
	case c.Class == BlocksIfAsked && c.blockOption() == 0:
		return Allowed
	}
	return WouldBlock
}
