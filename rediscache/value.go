package rediscache

import (
	"math/big"
	"math/bits"
	"slices"

	"github.com/joomcode/redispipe/internal/wire"
)

// value is a reply as it is kept. Nothing changes it.
type value struct {
	text   string
	isText bool
	other  any // if it is not text
}

// valueOf makes a value of a reply, which it does not retain where somebody may change it.
func valueOf(reply any) value {
	if text, ok := reply.([]byte); ok {
		return value{text: string(text), isText: true}
	}
	return value{other: copied(reply)}
}

func (v *value) null() bool { return !v.isText && v.other == nil }

// result returns the reply, as the caller's own.
func (v *value) result() any {
	if v.isText {
		return []byte(v.text)
	}
	return copied(v.other)
}

func (v *value) remembered() wire.Remembered {
	if v.isText {
		return wire.Remembered{Text: v.text, IsText: true}
	}
	return wire.Remembered{Result: copied(v.other)}
}

// copied returns a copy of a result that shares nothing with it that can be changed.
func copied(v any) any {
	switch v := v.(type) {
	case []byte:
		return slices.Clone(v)
	case []any:
		c := make([]any, len(v))
		for i, el := range v {
			c[i] = copied(el)
		}
		return c
	case map[string]any:
		c := make(map[string]any, len(v))
		for key, el := range v {
			c[key] = copied(el)
		}
		return c
	case *big.Int:
		return new(big.Int).Set(v)
	}
	return v
}

// The bytes that a value takes beside those of its texts: headers of slices, interfaces, the
// cells of a map.
const (
	textOverhead = 40
	pairOverhead = 56
)

// taken is about what the memory of n bytes takes: there are eight sizes of it between a power of
// two and the next, from 16 bytes on.
func taken(n int) int64 {
	step := max(16, 1<<max(0, bits.Len(uint(n))-4))
	return int64((n + step - 1) / step * step)
}

// sizeOf returns about how many bytes a result takes.
func sizeOf(v any) int64 {
	switch v := v.(type) {
	case []byte:
		return textOverhead + taken(cap(v))
	case string:
		return textOverhead + taken(len(v))
	case []any:
		size := int64(textOverhead)
		for _, el := range v {
			size += 16 + sizeOf(el)
		}
		return size
	case map[string]any:
		size := int64(textOverhead)
		for key, el := range v {
			size += pairOverhead + taken(len(key)) + sizeOf(el)
		}
		return size
	case *big.Int:
		return textOverhead + int64(len(v.Bits()))*8
	}
	return 16
}

// inRESP2 returns a reply of RESP3 as one of RESP2, if it can be told what that would be.
func inRESP2(v any) (any, bool) {
	switch v := v.(type) {
	case float64, bool, *big.Int:
		return nil, false // RESP2 has text for them, which may be written in more than one way
	case []any:
		for i := range v {
			el, ok := inRESP2(v[i])
			if !ok {
				return nil, false
			}
			v[i] = el
		}
		return v, true
	case map[string]any:
		flat := make([]any, 0, 2*len(v))
		for key, el := range v {
			el, ok := inRESP2(el)
			if !ok {
				return nil, false
			}
			flat = append(flat, []byte(key), el)
		}
		return flat, true
	}
	return v, true
}
