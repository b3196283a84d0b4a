package redistest

import (
	"bufio"
	"bytes"
	"fmt"
	"math/big"
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
)

// Bulks returns an array of bulk strings, like the reply to LRANGE. It is for Expectation.Reply.
func Bulks(texts ...string) []any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = []byte(text)
	}
	return list
}

// ServerError returns the error that a connection returns if a server answers with this error text.
func ServerError(text string) *errorx.Error {
	reply := strings.NewReplacer("\r", " ", "\n", " ").Replace(text)
	res, _ := redis.ReadResponse(bufio.NewReader(strings.NewReader("-" + reply + "\r\n")))
	return redis.AsErrorx(res)
}

// copyReply returns a deep copy of a result, or an error if no server's reply has
// that type. It converts an int to an int64.
func copyReply(value any) (any, error) {
	switch v := value.(type) {
	case nil, string, int64, float64, bool:
		return v, nil
	case error:
		return v, nil
	case int:
		return int64(v), nil
	case []byte:
		return bytes.Clone(v), nil
	case *big.Int:
		return new(big.Int).Set(v), nil
	case []any:
		list := make([]any, len(v))
		for i, el := range v {
			var err error
			if list[i], err = copyReply(el); err != nil {
				return nil, fmt.Errorf("element %d: %w", i, err)
			}
		}
		return list, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, el := range v {
			var err error
			if out[key], err = copyReply(el); err != nil {
				return nil, fmt.Errorf("key %q: %w", key, err)
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("a server's reply can't be a %T", value)
}
