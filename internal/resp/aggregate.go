package resp

import (
	"slices"

	"github.com/joomcode/redispipe/internal/errs"
)

// nestedFirstStep is the number of elements for which a nested array first has room, so that a
// length alone can't claim memory.
const nestedFirstStep = 16

// aggregate reads what follows the first line of an array, set or map.
func (d *Decoder) aggregate(h header, depth int) (any, error) {
	if h.n == 0 && h.kind != '%' {
		return resultNone, nil
	}
	elements, err := d.elements(h.n, depth)
	switch {
	case err != nil:
		return nil, err
	case h.kind == '%':
		return mapOf(elements)
	}
	return elements, nil
}

// discard reads what follows the first line of a push or an attribute.
func (d *Decoder) discard(h header, depth int) error {
	if h.kind == '>' && d.told != nil {
		err := d.push(h, &d.pushed)
		if err == nil {
			d.told(&d.pushed)
		}
		return err
	}
	skipped, err := d.elements(h.n, depth)
	if err == nil && h.kind == '>' && d.heard != nil {
		d.heard(skipped)
	}
	return err
}

// elements reads the n elements of an aggregate that is nested depth deep.
func (d *Decoder) elements(n, depth int) ([]any, error) {
	room := min(n, nestedFirstStep)
	if depth == 0 {
		// An element has at least 3 bytes and takes 16 in memory, so the bytes that have arrived
		// justify room for a quarter of their number.
		room = min(n, max(room, d.r.Buffered()/4))
	}
	elements := make([]any, 0, room)
	for range n {
		el, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if k := len(elements); k == cap(elements) {
			// append would grow the slice by a quarter, and copy three times as much in total
			elements = slices.Grow(elements, min(max(k, 1), n-k))
		}
		elements = append(elements, el)
	}
	return elements, nil
}

// mapOf makes a map from a list of alternating keys and values.
func mapOf(pairs []any) (any, error) {
	m := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		key, ok := ArgText(pairs[i])
		if !ok || pairs[i] == nil {
			return nil, bad(errs.ErrResponseFormat, '%', "map key of type %T", pairs[i])
		}
		m[key] = pairs[i+1]
	}
	return m, nil
}
