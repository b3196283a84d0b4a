package redisclusterutil

import (
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/redis"
)

// unexpected says that the answer to cmd does not have the shape it should.
func unexpected(cmd, why string, res any) error {
	return redis.ErrResponseUnexpected.New("%s: %s", cmd, why).WithProperty(redis.EKResponse, res)
}

// textPairs returns a map's entries whose values are strings. In RESP2 a map is an array
// of alternating keys and values.
func textPairs(v any) (map[string]string, bool) {
	pairs := make(map[string]string)
	add := func(key string, val any) {
		if text, ok := resp.TextOf(val); ok {
			pairs[key] = text
		}
	}
	switch v := v.(type) {
	case []any:
		if len(v)%2 != 0 {
			return nil, false
		}
		for i := 0; i < len(v); i += 2 {
			key, ok := resp.TextOf(v[i])
			if !ok {
				return nil, false
			}
			add(key, v[i+1])
		}
	case map[string]any:
		for key, val := range v {
			add(key, val)
		}
	default:
		return nil, false
	}
	return pairs, true
}
