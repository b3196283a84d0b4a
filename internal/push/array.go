package push

import (
	"bytes"

	"github.com/joomcode/redispipe/redis"
)

// fromArray reports whether a reply is a push of Pub/Sub that comes in the form of RESP2, and stores it
// in push: servers that only look like Redis send it so, though RESP3 was agreed on. If others were
// framed as pushes, only the answer to PING may come so.
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
