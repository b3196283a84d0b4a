package prefix

import "strings"

// Names describes where a reply contains names of keys or channels.
type Names uint8

const (
	// NoNames: the reply contains no names.
	NoNames Names = iota
	// IsName: the value is a name.
	IsName
	// InList: each element is a name.
	InList
	// InFirst: the first element is a name (BLPOP).
	InFirst
	// InScan: the second element is a list of names.
	InScan
	// InPairs: every other element is a name, or the names are the keys of a map (PUBSUB NUMSUB).
	InPairs
	// InStreams: the reply is an array of pairs that begin with a name, or a map whose keys are
	// names (XREAD).
	InStreams
)

// Of returns where element i of a reply contains names. In a map, each key and each value is an element.
func (n Names) Of(i int, isMap bool) Names {
	switch {
	case isMap && (n == InPairs || n == InStreams) && i%2 == 0:
		return IsName
	case isMap:
		return NoNames
	case n == InList, n == InFirst && i == 0, n == InPairs && i%2 == 0:
		return IsName
	case n == InScan && i == 1:
		return InList
	case n == InStreams:
		return InFirst
	}
	return NoNames
}

// Strip returns a reply with the prefix removed from its names. It does not change res, which
// others may read. An unexpected reply, such as an error or null, is returned unchanged.
func (p Prefix) Strip(names Names, res any) any {
	if names == IsName {
		return p.stripName(res)
	}
	switch res := res.(type) {
	case map[string]any:
		if names.Of(0, true) == IsName {
			return p.stripMap(res)
		}
	case []any:
		if names != NoNames {
			return p.stripList(names, res)
		}
	case []string: // from a Scanner
		return p.StripAll(res)
	}
	return res
}

// StripEach is Strip for the results of a transaction. names has an entry for each result. Anything
// else, such as an error, is returned unchanged.
func (p Prefix) StripEach(names []Names, res any) any {
	results, ok := res.([]any)
	if !ok || len(results) != len(names) {
		return res
	}
	stripped := make([]any, len(results))
	for i, el := range results {
		stripped[i] = p.Strip(names[i], el)
	}
	return stripped
}

// StripAll removes the prefix from each text.
func (p Prefix) StripAll(names []string) []string {
	stripped := make([]string, len(names))
	for i, name := range names {
		stripped[i] = strings.TrimPrefix(name, string(p))
	}
	return stripped
}

func (p Prefix) stripMap(res map[string]any) map[string]any {
	stripped := make(map[string]any, len(res))
	for name, value := range res {
		stripped[strings.TrimPrefix(name, string(p))] = value
	}
	return stripped
}

func (p Prefix) stripList(names Names, res []any) []any {
	stripped := make([]any, len(res))
	for i, el := range res {
		stripped[i] = p.Strip(names.Of(i, false), el)
	}
	return stripped
}

func (p Prefix) stripName(name any) any {
	switch name := name.(type) {
	case []byte:
		if len(name) >= len(p) && string(name[:len(p)]) == string(p) {
			return name[len(p):]
		}
	case string:
		return strings.TrimPrefix(name, string(p))
	}
	return name
}
