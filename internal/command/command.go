// Package command knows the commands of Redis and Valkey: which of their
// arguments are keys, and what they do to the connection that sends them.
//
// The table is generated out of the COMMAND replies of live servers; what
// COMMAND does not tell stands in gen/rules.go. To add a server's commands,
// give its binary or address to the generator:
//
//	go run ./gen /path/to/valkey-server
package command

import "encoding/binary"

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

// Is tells whether any of the flags is set. It is false for a nil Info.
func (i *Info) Is(f Flags) bool {
	return i != nil && i.Flags&f != 0
}

// maxName bounds the names that Lookup can find: four machine words hold one.
const maxName = 32

// folded is a name in upper case, padded with zeros.
type folded [maxName]byte

// indexSize is a power of two, large enough that the table fills less than a
// half of it and so two probes find nearly every name.
const indexSize = 1024

// index is a hash table with linear probing: positions in table plus one, and
// zero for none. It is only read after the package's initialization.
var index = func() (idx [indexSize]uint16) {
	for n := range table {
		var f folded
		copy(f[:], table[n].Name)
		h := f.fold()
		for idx[h] != 0 {
			h = (h + 1) % indexSize
		}
		idx[h] = uint16(n + 1)
	}
	return idx
}()

// Lookup finds a command by its name, of one word or of two with one space
// between, in any case. It returns nil for a name that the table lacks.
func Lookup(name string) *Info {
	if len(name) > maxName {
		return nil
	}
	var f folded
	copy(f[:], name)
	return f.find(len(name))
}

// find looks up the first n bytes.
func (f *folded) find(n int) *Info {
	for h := f.fold(); index[h] != 0; h = (h + 1) % indexSize {
		if info := &table[index[h]-1]; info.Name == string(f[:n]) {
			return info
		}
	}
	return nil
}

// fold turns the name into upper case and returns its place in the index.
func (f *folded) fold() uint32 {
	// Odd constants with bits all over (from the golden ratio and xxHash), so
	// that every byte of the name reaches the upper bits of the sum.
	const (
		c0 = 0x9e3779b97f4a7c15
		c1 = 0xc2b2ae3d27d4eb4f
		c2 = 0x165667b19e3779f9
		c3 = 0x27d4eb2f165667c5
	)
	h := f.upper(0)*c0 ^ f.upper(8)*c1 ^ f.upper(16)*c2 ^ f.upper(24)*c3
	h ^= h >> 32
	h *= c0
	return uint32(h>>32) % indexSize
}

// upper turns the eight bytes at p into upper case, all at once, and returns
// them. Bytes that are not ASCII letters stay as they are.
func (f *folded) upper(p int) uint64 {
	const ones = 0x0101010101010101
	b := f[p : p+8]
	w := binary.LittleEndian.Uint64(b)
	seven := w & (0x7f * ones)
	// The top bit of a byte is set where the byte is over 'z', or from 'a' on.
	overZ := seven + (0x7f-'z')*ones
	fromA := seven + (0x80-'a')*ones
	lower := ^w & (fromA ^ overZ) & (0x80 * ones)
	w -= lower >> 2
	binary.LittleEndian.PutUint64(b, w)
	return w
}
