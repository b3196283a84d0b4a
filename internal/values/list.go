package values

// isEmpty reports whether a result is an empty list or map: the answer for a missing key.
func isEmpty(res any) bool {
	n, ok := countPairs(res)
	return ok && n == 0
}

// countPairs returns the number of names with values in a result, which may be a map, a list of
// alternating names and values, or a list of pairs.
func countPairs(res any) (n int, ok bool) {
	switch v := res.(type) {
	case map[string]any:
		return len(v), true
	case []any:
		if isFlat(v) {
			return len(v) / 2, len(v)%2 == 0
		}
		for _, el := range v {
			if pair, ok := el.([]any); !ok || len(pair) != 2 {
				return 0, false
			}
		}
		return len(v), true
	}
	return 0, false
}

// isFlat reports whether a list contains no lists.
func isFlat(list []any) bool {
	if len(list) == 0 {
		return true
	}
	_, nested := list[0].([]any)
	return !nested
}

// eachPair calls f with each name and value of a result, as countPairs counts them, until f returns
// an error.
func eachPair(res any, f func(name, value any) error) error {
	switch v := res.(type) {
	case map[string]any:
		for name, value := range v {
			if err := f(name, value); err != nil {
				return err
			}
		}
	case []any:
		step := 1
		if isFlat(v) {
			step = 2
		}
		for i := 0; i < len(v); i += step {
			pair := v[i:]
			if step == 1 {
				pair = v[i].([]any)
			}
			if err := f(pair[0], pair[1]); err != nil {
				return err
			}
		}
	}
	return nil
}
