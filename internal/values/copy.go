package values

import (
	"math/big"
	"slices"
)

// CopyResult returns a copy of a result. The two share nothing that can change.
func CopyResult(v any) any {
	switch v := v.(type) {
	case []byte:
		return slices.Clone(v)
	case []any:
		c := make([]any, len(v))
		for i, el := range v {
			c[i] = CopyResult(el)
		}
		return c
	case map[string]any:
		c := make(map[string]any, len(v))
		for key, el := range v {
			c[key] = CopyResult(el)
		}
		return c
	case *big.Int:
		return new(big.Int).Set(v)
	}
	return v
}
