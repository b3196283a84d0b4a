package prefix

import (
	"slices"
	"strings"
)

// Room is memory for the copies of the requests of a batch, so that they need few allocations. A nil Room has no
// memory: then each request has its own.
type Room struct {
	args []any // for the arguments of later requests
	left int   // how many requests may still follow
	keys strings.Builder
}

// NewRoom returns a Room for a batch with that many requests, and that many arguments in all of them.
func NewRoom(requests, args int) *Room { return &Room{args: make([]any, args), left: requests} }

// copy returns a copy of the arguments.
func (r *Room) copy(args []any) []any {
	if r == nil || len(args) > len(r.args) {
		return slices.Clone(args)
	}
	to := r.args[:len(args):len(args)]
	r.args = r.args[len(args):]
	copy(to, args)
	return to
}

// roomMost bounds the bytes that join allocates for later keys.
const roomMost = 4 << 10

// join returns text followed by word. It allocates as if the keys of the later requests were as long as this
// one.
func (r *Room) join(text Prefix, word string) string {
	if r == nil {
		return string(text) + word
	}
	n := len(text) + len(word)
	if r.keys.Cap()-r.keys.Len() < n { // a new Builder, because growing one would copy the keys that it has
		r.keys.Reset()
		r.keys.Grow(max(n, min(n*r.left, roomMost)))
	}
	r.left = max(r.left-1, 1)
	from := r.keys.Len()
	r.keys.WriteString(string(text))
	r.keys.WriteString(word)
	return r.keys.String()[from:]
}
