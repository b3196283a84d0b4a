package redis

import "slices"

// resultNone is boxed once, as results that come often are.
var resultNone any = []any{}

// A nested array starts with room for so many elements, for the same reason.
const nestedFirstStep = 16

// aggregate reads an array, set, map, push or attribute that is nested depth deep.
func (d *Decoder) aggregate(kind byte, line []byte, depth int) (any, error) {
	n, err := d.length(line, d.limits.Elements)
	if err != nil {
		return nil, err
	}
	if n < 0 {
		return nil, nil
	}
	if depth >= d.limits.Depth {
		return nil, ErrResponseTooLarge.New("nested deeper than %d", d.limits.Depth)
	}
	if kind == '>' && depth > 0 {
		return nil, ErrResponseFormat.New("push inside of a reply")
	}
	if kind == '%' || kind == '|' {
		if n > d.limits.Elements/2 {
			return nil, ErrResponseTooLarge.New("map of %d pairs is over the limit of %d elements", n, d.limits.Elements)
		}
		n *= 2
	}
	if n == 0 && (kind == '*' || kind == '~') {
		return resultNone, nil
	}
	elements, err := d.elements(n, depth)
	if err != nil {
		return nil, err
	}
	switch kind {
	case '%':
		return mapOf(elements)
	case '>', '|':
		return skipped{}, nil
	}
	return elements, nil
}

// elements reads the n elements of an aggregate that is nested depth deep.
func (d *Decoder) elements(n, depth int) ([]any, error) {
	room := min(n, nestedFirstStep)
	if depth == 0 {
		// An element is 3 bytes at the least and takes 16, so what is
		// already here allows for a quarter.
		room = min(n, max(room, d.r.Buffered()/4))
	}
	elements := make([]any, 0, room)
	for range n {
		el, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if k := len(elements); k == cap(elements) {
			// append would grow by a quarter at a time, which takes thrice
			// as much in all.
			elements = slices.Grow(elements, min(max(k, 1), n-k))
		}
		elements = append(elements, el)
	}
	return elements, nil
}

// mapOf makes a map of keys and values in turn.
func mapOf(pairs []any) (any, error) {
	m := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		key, ok := ArgToString(pairs[i])
		if !ok || pairs[i] == nil {
			return nil, ErrResponseFormat.New("map key of type %T", pairs[i])
		}
		m[key] = pairs[i+1]
	}
	return m, nil
}
