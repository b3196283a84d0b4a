package push

import (
	"bytes"

	"github.com/joomcode/redispipe/redis"
)

// fromArray reports whether a reply is a push of Pub/Sub in the form of RESP2, and stores it in push.
// Servers that only look like Redis send this form although RESP3 was agreed on. framed means that
// this server has sent a push in the form of RESP3. Then only its answer to PING may be an array.
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
