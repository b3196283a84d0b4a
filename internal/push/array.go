package push

import (
	"bytes"

	"github.com/joomcode/redispipe/redis"
)

// fromArray reports whether a reply is a push of Pub/Sub in its RESP2 form, an array, and stores it
// in push. Servers that only look like Redis use this form even with RESP3. If framed is set, this
// server has already sent a push in its RESP3 form. Then only an answer to PING may be an array.
func fromArray(reply any, push *redis.Push, framed bool) bool {
	list, _ := reply.([]any)
	if len(list) < 2 {
		return false
	}
	kind, _ := list[0].([]byte)
	pubsub := bytes.HasSuffix(kind, []byte("subscribe")) || bytes.HasSuffix(kind, []byte("message"))
	if (framed || !pubsub) && string(kind) != "pong" {
		return false
	}
	last := len(list) - 1
	var words [][]byte
	for _, el := range list[:last] {
		word, ok := el.([]byte)
		if !ok {
			return false
		}
		words = append(words, word)
	}
	push.Words, push.Body, push.Rest = words, nil, nil
	if body, ok := list[last].([]byte); ok {
		push.Body = body
	} else {
		push.Rest = list[last]
	}
	return true
}
