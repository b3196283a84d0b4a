package command

// NoKey and InCmd take the place of the index of a key that is not among the arguments.
const (
	// NoKey: the call has no key.
	NoKey = -1
	// InCmd: the key is the second word of Cmd itself ("GET foo").
	InCmd = -2
)

// maxSpecs is the greatest number of key specs that a command has (GEORADIUS).
const maxSpecs = 3

// spec tells where some of a command's keys are, as servers describe it in COMMAND. Positions count
// words: the name of the command has position 0, and a subcommand has position 1.
type spec struct {
	kind specKind
	// at is the position of the first key or of the number of keys, or the position where the search
	// for the keyword begins.
	at   uint8
	word string
	// last is the position of the last key: relative to the first key if it is ≥ 0, and relative to
	// the end of the arguments if it is negative.
	last int8
	// step is the distance from one key to the next.
	step uint8
	// share, if greater than 1, means that the remaining arguments have that many equal parts, and
	// only the first part has keys. In XREAD the second half are IDs.
	share uint8
}

// specKind tells how to find the first key of a spec. The zero kind ends the list of specs.
type specKind uint8

const (
	// byIndex: the first key is at a fixed position.
	byIndex specKind = iota + 1
	// byCount: the number of keys is at a fixed position, and the keys follow it.
	byCount
	// byWord: the keys follow a keyword, which may be absent.
	byWord
	// byStreams: the keys follow STREAMS, after the options of XREAD and XREADGROUP.
	byStreams
	// bySort: the key after STORE in SORT. If there are several, the last one counts.
	bySort
	// byMigrate: MIGRATE's key, or the keys after KEYS if that key is empty.
	byMigrate
)

// span is a range of positions of keys.
type span struct{ first, last, step int }

// FirstKey returns the index in the arguments of the call's first key, NoKey or InCmd. If the
// command is not in the table, that is the first argument, as in nearly all commands of modules
// (JSON.GET). If such a command has two words, the second counts as a subcommand.
func (c *Call) FirstKey() int {
	if i, fixed := c.FixedKey(); fixed {
		return i
	}
	var spans [maxSpecs]span
	if c.spans(&spans) == 0 {
		return NoKey
	}
	return c.argIndex(spans[0].first)
}

// FixedKey returns the index (see FirstKey) of the only key of a command that has one key at a
// fixed position, like most commands. For other commands fixed is false.
func (c *Call) FixedKey() (i int, fixed bool) {
	at := c.OnlyKey()
	switch {
	case at == 0:
		return NoKey, false
	case at >= c.Words():
		return NoKey, true
	}
	return c.argIndex(at), true
}

// OnlyKey returns the position of the only key of a command that has one key at a fixed position.
// For other commands, and for a nil Info, it returns 0.
func (i *Info) OnlyKey() int {
	if i == nil || i.keys[0].kind != byIndex || i.keys[0].last != 0 || i.keys[1].kind != 0 {
		return 0
	}
	return int(i.keys[0].at)
}

// Keys calls yield with the index of each key, see FirstKey, until yield returns false. It finds no
// keys if the arguments make no sense, for example if a number of keys exceeds the number of
// arguments: the server will refuse the call. The receiver is a value so that one can range over
// Of(…).Keys.
func (c Call) Keys(yield func(int) bool) {
	var spans [maxSpecs]span
	n := c.spans(&spans)
	for _, s := range spans[:n] {
		for p := s.first; p <= s.last; p += s.step {
			if !yield(c.argIndex(p)) {
				return
			}
		}
	}
}

// CountKeys returns the number of keys of the call.
func (c *Call) CountKeys() int {
	var spans [maxSpecs]span
	total := 0
	for _, s := range spans[:c.spans(&spans)] {
		total += (s.last-s.first)/s.step + 1
	}
	return total
}

// spans stores the positions of the keys, and returns the number of spans.
func (c *Call) spans(out *[maxSpecs]span) int {
	if c.malformed {
		return 0
	}
	if c.Info == nil {
		p := 1 + c.shift
		out[0] = span{p, p, 1}
		return c.dropOutside(out, 1)
	}
	n := 0
	for _, s := range c.keys {
		if s.kind == 0 {
			break
		}
		found, ok := c.findKeys(s)
		if !ok {
			return 0
		}
		out[n] = found
		n = c.dropOutside(out, n+1)
	}
	return n
}

// dropOutside returns n, or n-1 if the n-th span is empty or exceeds the arguments.
func (c *Call) dropOutside(out *[maxSpecs]span, n int) int {
	if s := out[n-1]; s.first < 1 || s.last < s.first || s.last >= c.Words() {
		return n - 1
	}
	return n
}

// findKeys finds the keys of a spec. ok is false if the arguments make no sense.
func (c *Call) findKeys(s spec) (found span, ok bool) {
	switch s.kind {
	case byIndex:
		return c.stretch(int(s.at), s), true
	case byCount:
		count, ok := c.count(int(s.at))
		first, step := int(s.at)+1, int(s.step)
		found = span{first, first + (count-1)*step, step}
		return found, ok && found.last < c.Words()
	case byWord:
		if p := c.find(s.word, int(s.at)); p > 0 {
			return c.stretch(p+1, s), true
		}
	case byStreams:
		if p := c.readOption("STREAMS"); p > 0 {
			return c.stretch(p+1, s), true
		}
	case bySort:
		return c.sortStore(int(s.at)), true
	case byMigrate:
		return c.migrateKeys(int(s.at)), true
	}
	return span{}, true
}

// stretch returns the span of keys that begins at first and extends as s says.
func (c *Call) stretch(first int, s spec) span {
	last := first + int(s.last)
	switch {
	case s.last < 0 && s.share > 1:
		last += (c.Words() - first) / int(s.share)
	case s.last < 0:
		last = c.Words() + int(s.last)
	}
	return span{first, last, int(s.step)}
}

// sortStore returns the span of the key after the last STORE among SORT's options.
func (c *Call) sortStore(from int) (found span) {
	for p := from; p < c.Words(); p++ {
		switch {
		case c.is(p, "LIMIT"):
			p += 2
		case c.is(p, "GET"), c.is(p, "BY"):
			p++
		case c.is(p, "STORE"):
			p++
			found = span{p, p, 1}
		}
	}
	return found
}

// migrateKeys returns the span of MIGRATE's key or, if that key is empty, of all words after KEYS.
func (c *Call) migrateKeys(key int) span {
	if c.is(key, "") {
		for p := key + 3; p < c.Words(); p++ {
			switch {
			case c.is(p, "AUTH"):
				p++
			case c.is(p, "AUTH2"):
				p += 2
			case c.is(p, "KEYS"):
				return span{p + 1, c.Words() - 1, 1}
			}
		}
	}
	return span{key, key, 1}
}
