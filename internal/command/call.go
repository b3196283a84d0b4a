package command

import (
	"reflect"
	"strings"
)

// Words returns the number of words of the call that are sent, including the command's name.
func (c *Call) Words() int {
	return 1 + c.shift + len(c.args)
}

// argIndex converts the position of a word to an index in the arguments.
func (c *Call) argIndex(p int) int {
	if p <= c.shift {
		return InCmd
	}
	return p - 1 - c.shift
}

// at returns the word at position p, or nil if there is none.
func (c *Call) at(p int) any {
	switch {
	case p <= c.shift:
		return c.word
	case p >= c.Words():
		return nil
	}
	return c.args[p-1-c.shift]
}

// find returns the position of a keyword at or after the given position, or 0.
func (c *Call) find(word string, from int) int {
	for p := from; p < c.Words(); p++ {
		if c.is(p, word) {
			return p
		}
	}
	return 0
}

// is compares the word at a position with an upper-case keyword, ignoring case.
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

// equalFold compares with an upper-case ASCII word, ignoring case.
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

// count reads a number of keys, of any type that is sent as a number. ok is false unless the number
// is between 1 and Words.
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

// TwiceWords is the least number of words of a SET that Redis may answer twice.
const TwiceWords = 6

// answeredTwice reports whether Redis 8.6 and 8.10 may answer a SET twice: first with the old value
// for GET, and then with an error because its digest does not have 16 characters.
func (c *Call) answeredTwice() bool {
	if c.Words() < TwiceWords || c.find("GET", 3) == 0 {
		return false
	}
	p := max(c.find("IFDEQ", 3), c.find("IFDNE", 3))
	if p == 0 {
		return false
	}
	digest := reflect.ValueOf(c.at(p + 1))
	return digest.Kind() != reflect.String && digest.Kind() != reflect.Slice || digest.Len() != 16
}

// BoundsTransaction reports whether the command begins or ends a transaction, or must come before
// one. Such a command can't be a part of a transaction: the server runs it at once, or refuses it
// without aborting the transaction.
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

// readOption returns the position of an option of XREAD and XREADGROUP, such as BLOCK, or of
// STREAMS, which ends the options, or 0. It goes through the options as the server does, because a
// group may be called BLOCK.
func (c *Call) readOption(word string) int {
	for p := 1; p < c.Words(); p++ {
		switch {
		case c.is(p, word):
			return p
		case c.is(p, "STREAMS"):
			return 0
		case c.is(p, "COUNT"), c.is(p, "BLOCK"), c.is(p, "CLAIM"):
			p++
		case c.is(p, "GROUP"):
			p += 2
		}
	}
	return 0
}

// ShownName is the name of the command for errors and logs. If Cmd is not in the table, it shows at
// most the first word, and only if that looks like the name of a command, because the rest may be
// an argument.
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

// maxShownName is longer than the name of any module's command, and shorter than keys and tokens
// that end up in Cmd by mistake.
const maxShownName = 32
