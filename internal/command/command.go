// Package command knows the commands of Redis and Valkey: which of their
// arguments are keys, and what they do to the connection that sends them.
//
// The table is generated out of the COMMAND replies of live servers; what
// COMMAND does not tell stands in gen/rules.go. To add a server's commands,
// give its binary or address to the generator:
//
//	go run ./gen /path/to/valkey-server
package command

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
)

// Info describes a command.
type Info struct {
	// Name is in upper case. A subcommand's is of two words: "XINFO STREAM".
	Name  string
	Flags Flags
	Class Class
	keys  [maxSpecs]spec
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

// maxName bounds the names that Lookup can find: four machine words hold one.
const maxName = 32

// folded is a name in upper case, eight bytes to a word, padded with zeros. It is not an
// array, so that it stays in registers: Lookup takes 8 ns, with an array 19.
type folded struct{ first, second, third, fourth uint64 }

// indexSize is a power of two, large enough that the table fills less than a
// half of it and so two probes find nearly every name.
const indexSize = 2048

// table has the commands of all groups, names their names, and index is a hash table of
// them with linear probing: positions in table plus one, and zero for none. All of it is only
// read after the package's initialization.
var table, names, index = func() (t [tableSize]Info, n [tableSize]folded, idx [indexSize]uint16) {
	i := 0
	for _, g := range groups {
		for _, name := range g.names {
			t[i], n[i] = g.like, fold(name)
			t[i].Name = name
			h := n[i].hash()
			for idx[h] != 0 {
				h = (h + 1) % indexSize
			}
			i++
			idx[h] = uint16(i)
		}
	}
	return t, n, idx
}()

// Lookup finds a command by its name, of one word or of two with one space
// between, in any case. It returns nil for a name that the table lacks.
func Lookup(name string) *Info {
	if len(name) > maxName {
		return nil
	}
	f := fold(name)
	for h := f.hash(); index[h] != 0; h = (h + 1) % indexSize {
		// The length tells a name from one with zero bytes after it.
		if i := index[h] - 1; names[i] == f && len(table[i].Name) == len(name) {
			return &table[i]
		}
	}
	return nil
}

// fold reads a name of up to maxName bytes.
func fold(name string) (f folded) {
	if f.first, name = word8(name); name == "" {
		return f
	}
	if f.second, name = word8(name); name == "" {
		return f
	}
	f.third, name = word8(name)
	f.fourth, _ = word8(name)
	return f
}

// word8 reads up to eight bytes, in upper case, and returns what follows them.
func word8(s string) (w uint64, rest string) {
	switch n := len(s); {
	case n >= 8:
		return upper(uint64(read4(s)) | uint64(read4(s[4:]))<<32), s[8:]
	case n >= 4:
		// The second four bytes overlap the first; what both have is the same.
		return upper(uint64(read4(s)) | uint64(read4(s[n-4:]))<<(8*n-32)), ""
	case n > 0:
		return upper(uint64(s[0]) | uint64(s[n/2])<<(n/2*8) | uint64(s[n-1])<<(8*n-8)), ""
	}
	return 0, ""
}

func read4(s string) uint32 {
	_ = s[3]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

// upper turns eight bytes into upper case, all at once. Bytes that are not
// ASCII letters stay as they are.
func upper(w uint64) uint64 {
	const ones = 0x0101010101010101
	seven := w & (0x7f * ones)
	// The top bit of a byte is set where the byte is over 'z', or from 'a' on.
	overZ := seven + (0x7f-'z')*ones
	fromA := seven + (0x80-'a')*ones
	lower := ^w & (fromA ^ overZ) & (0x80 * ones)
	return w - lower>>2
}

// hash is the name's place in the index.
func (f folded) hash() uint32 {
	// Odd constants with bits all over (from the golden ratio and xxHash), so
	// that every byte of the name reaches the upper bits of the sum.
	h := f.first*0x9e3779b97f4a7c15 ^ f.second*0xc2b2ae3d27d4eb4f ^ f.third*0x165667b19e3779f9 ^ f.fourth*0x27d4eb2f165667c5
	h ^= h >> 32
	h *= 0x9e3779b97f4a7c15
	return uint32(h>>32) % indexSize
}
