package command

import "strings"

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

// resolve finds the command. It is all that Of does, so that Of is inlined and a Call never
// copied, which took 40 ns.
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

// Words is how many words are sent, the command's name included.
func (c *Call) Words() int {
	return 1 + c.shift + len(c.args)
}

// argIndex turns a position into an index in the arguments.
func (c *Call) argIndex(p int) int {
	if p <= c.shift {
		return InCmd
	}
	return p - 1 - c.shift
}

// at returns what is at a position, nil behind the end.
func (c *Call) at(p int) any {
	switch {
	case p <= c.shift:
		return c.word
	case p >= c.Words():
		return nil
	}
	return c.args[p-1-c.shift]
}

// find returns the position of a keyword, from that position on, or 0.
func (c *Call) find(word string, from int) int {
	for p := from; p < c.Words(); p++ {
		if c.is(p, word) {
			return p
		}
	}
	return 0
}

// is compares what is at a position with an upper-case keyword, in any case.
func (c *Call) is(p int, word string) bool {
	switch s := c.at(p).(type) {
	case string:
		return equalFold(s, word)
	case []byte:
		return equalFold(s, word)
	case nil:
		return word == ""
	}
	return false
}

// equalFold compares with an upper-case ASCII word, in any case.
func equalFold[S string | []byte](s S, upper string) bool {
	if len(s) != len(upper) {
		return false
	}
	for i := range len(upper) {
		b := s[i]
		if 'a' <= b && b <= 'z' {
			b -= 'a' - 'A'
		}
		if b != upper[i] {
			return false
		}
	}
	return true
}

// count reads a number of keys, of any type that is sent as one. It is not ok unless the number is in 1 … Words.
func (c *Call) count(p int) (n int, ok bool) {
	switch x := c.at(p).(type) {
	case string:
		return parseCount(x, c.Words())
	case []byte:
		return parseCount(x, c.Words())
	default:
		var room [32]byte
		text, _ := AppendNumber(room[:0], x)
		return parseCount(text, c.Words())
	}
}

// parseCount reads a plain decimal, as strictly as the server does.
func parseCount[S string | []byte](s S, limit int) (n int, ok bool) {
	if len(s) == 0 || s[0] == '0' {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' || n > limit {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, n <= limit
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
	case c.Class == Protocol:
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

// BoundsTransaction reports whether the command begins or ends a transaction, or is for what
// comes before one, so that it is no part of it: the server does it at once, or refuses it
// without ending the transaction.
func BoundsTransaction(cmd string) bool {
	call := Of(cmd, nil)
	if call.Info == nil {
		return false
	}
	switch call.Name {
	case "MULTI", "EXEC", "DISCARD", "WATCH":
		return true
	}
	return false
}

// blockOption returns the position of BLOCK among XREAD's and XREADGROUP's options,
// or 0. It goes over them as the server does: the name of a group may be BLOCK.
func (c *Call) blockOption() int {
	for p := 1; p < c.Words(); p++ {
		switch {
		case c.is(p, "BLOCK"):
			return p
		case c.is(p, "STREAMS"):
			return 0
		case c.is(p, "COUNT"):
			p++
		case c.is(p, "GROUP"):
			p += 2
		}
	}
	return 0
}

// ShownName is the command's name for errors and logs. Of a Cmd that is not in the table
// it shows the first word at most, and only if that looks like a command's name: the rest
// may be an argument.
func (c *Call) ShownName(cmd string) string {
	if c.Info != nil {
		return c.Name
	}
	name, _, _ := strings.Cut(cmd, " ")
	for i := range len(name) {
		b := name[i]
		letter := 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9'
		if !letter && strings.IndexByte("._-", b) < 0 {
			return "?"
		}
	}
	if len(name) > maxShownName {
		return "?"
	}
	return name
}

// maxShownName is over the length of any module's command, and short of keys
// and tokens that landed in Cmd by mistake.
const maxShownName = 32
