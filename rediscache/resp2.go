package rediscache

import "math/big"

// inRESP2 converts a RESP3 reply to the result that a RESP2 connection would return. It returns false if
// that result can't be computed.
func inRESP2(v any) (any, bool) {
	switch v := v.(type) {
	case float64, bool, *big.Int:
		return nil, false // RESP2 has texts for these, in more than one possible form
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
