package memory

import (
	"math/big"
	"slices"
	"sync"

	"github.com/joomcode/redispipe/internal/values"
)

// Value is a kept reply. It never changes.
type Value struct {
	text   string
	isText bool
	other  any // the reply if it is not a text
}

// TextOf returns a text as a value.
func TextOf(text string) Value { return Value{text: text, isText: true} }

// ValueOf returns a reply as a value. It copies the parts that the caller could change.
func ValueOf(reply any) Value {
	if text, ok := reply.([]byte); ok {
		return TextOf(string(text))
	}
	return Value{other: values.CopyResult(reply)}
}

func (v *Value) null() bool { return !v.isText && v.other == nil }

// Text returns the reply if it is a text.
func (v *Value) Text() (text string, isText bool) { return v.text, v.isText }

// Result returns the reply. The caller may change it.
func (v *Value) Result() any {
	if v.isText {
		return []byte(v.text)
	}
	return values.CopyResult(v.other)
}

// The sizes, in bytes, of the parts of a value.
const (
	sliceHeader  = 24
	stringHeader = 16
	elementSlot  = 16
	mapHeader    = 48
	pairs        = 7 // the pairs in a group of a map; the only group of a small map has one more
	groupOfPairs = 264
	number       = 8
)

const (
	smallestObject = 16
	largestObject  = 32 << 10
	page           = 8 << 10
)

// objects returns the size classes of Go's allocator, up to largestObject; larger objects take whole pages.
// An object smaller than smallestObject counts as smallestObject, because the allocator may put it into one
// block of memory with other objects.
var objects = sync.OnceValue(func() (sizes []int) {
	for n := 0; n <= largestObject; n = max(sizes[len(sizes)-1]+1, smallestObject) {
		sizes = append(sizes, cap(append([]byte(nil), make([]byte, n)...)))
	}
	return sizes
})

// taken returns the memory that an object of n bytes takes.
func taken(n int) int64 {
	if n > largestObject {
		return int64((n + page - 1) / page * page)
	}
	sizes := objects()
	at, _ := slices.BinarySearch(sizes, n)
	return int64(sizes[at])
}

// sizeOf returns the approximate size of a result, without the interface value that contains it.
func sizeOf(v any) (size int64) {
	switch v := v.(type) {
	case nil, bool:
		return 0
	case []byte:
		return sliceHeader + taken(cap(v))
	case string:
		return stringHeader + taken(len(v))
	case []any:
		size = sliceHeader + taken(len(v)*elementSlot)
		for _, el := range v {
			size += sizeOf(el)
		}
		return size
	case map[string]any:
		groups := 1
		for len(v) > pairs+1 && groups*pairs < len(v) {
			groups *= 2
		}
		size = mapHeader + taken(groups*groupOfPairs)
		for key, el := range v {
			size += taken(len(key)) + sizeOf(el)
		}
		return size
	case *big.Int:
		return sliceHeader + number + taken(len(v.Bits())*number)
	}
	return number
}
