package redisclusterutil

import (
	"github.com/joomcode/redispipe/redis"
)

// unexpected says that the answer to cmd does not have the shape it should.
func unexpected(cmd, why string, res any) error {
	return redis.ErrResponseUnexpected.New("%s: %s", cmd, why).WithProperty(redis.EKResponse, res)
}

// asText returns a bulk or a simple string.
func asText(v any) (string, bool) {
	switch v := v.(type) {
	case []byte:
		return string(v), true
	case string:
		return v, true
	}
	return "", false
}

// eachPair calls f with the keys and values of a map, which is an array of
// alternating keys and values in RESP2.
func eachPair(v any, f func(key string, val any) bool) bool {
	switch v := v.(type) {
	case []any:
		if len(v)%2 != 0 {
			return false
		}
		for i := 0; i < len(v); i += 2 {
			key, ok := asText(v[i])
			if !ok || !f(key, v[i+1]) {
				return false
			}
		}
		return true
	case map[string]any:
		for key, val := range v {
			if !f(key, val) {
				return false
			}
		}
		return true
	}
	return false
}

// textPairs returns a map's entries whose values are strings.
func textPairs(v any) (map[string]string, bool) {
	pairs := make(map[string]string)
	ok := eachPair(v, func(key string, val any) bool {
		if text, ok := asText(val); ok {
			pairs[key] = text
		}
		return true
	})
	return pairs, ok
}
