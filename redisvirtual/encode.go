package redisvirtual

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/redis"
)

// Replies that are made here.
const (
	okFrame     = "+OK\r\n"
	queuedFrame = "+QUEUED\r\n"
	resetFrame  = "+RESET\r\n"
)

// appendError appends an error reply, which is a line.
func appendError(b []byte, text string) []byte {
	text = strings.NewReplacer("\r", " ", "\n", " ").Replace(text)
	return append(append(append(b, '-'), text...), "\r\n"...)
}

// appendResult appends a result that was decoded already, as a server would have sent it: in
// sessions, and where a connection looks into all replies (Opts.Integrity, statistics of
// requests). Types that decode to the same are sent as the most usual one: null of RESP2 as a
// null string, a set as an array.
func appendResult(b []byte, res any, protocol int) []byte {
	switch r := res.(type) {
	case nil:
		return appendNull(b, protocol)
	case string:
		if strings.ContainsAny(r, "\r\n") { // of a verbatim string
			return appendWord(b, r)
		}
		return append(append(append(b, '+'), r...), "\r\n"...)
	case []byte:
		return appendWord(b, r)
	case int64:
		return append(strconv.AppendInt(append(b, ':'), r, 10), "\r\n"...)
	case bool:
		if r {
			return append(b, "#t\r\n"...)
		}
		return append(b, "#f\r\n"...)
	case float64:
		text, _ := resp.AppendResult(nil, r)
		return append(append(append(b, ','), text...), "\r\n"...)
	case *big.Int:
		return append(r.Append(append(b, '('), 10), "\r\n"...)
	case []any:
		b = resp.AppendLength(append(b, '*'), int64(len(r)))
		for _, el := range r {
			b = appendResult(b, el, protocol)
		}
		return b
	case map[string]any:
		b = resp.AppendLength(append(b, '%'), int64(len(r)))
		for key, value := range r {
			b = appendResult(appendWord(b, key), value, protocol)
		}
		return b
	case error:
		if err := redis.AsErrorx(r); err.IsOfType(redis.ErrExecEmpty) {
			return appendNull(b, protocol)
		}
		return appendError(b, textOf(redis.AsErrorx(r)))
	}
	return appendError(b, "ERR a reply that can't be passed on")
}

func appendNull(b []byte, protocol int) []byte {
	if protocol == 3 {
		return append(b, "_\r\n"...)
	}
	return append(b, "$-1\r\n"...)
}

func appendWord[W string | []byte](b []byte, word W) []byte {
	b = resp.AppendLength(append(b, '$'), int64(len(word)))
	return append(append(b, word...), "\r\n"...)
}

// appendWords appends a request of these words.
func appendWords[W string | []byte](b []byte, words []W) []byte {
	b = resp.AppendLength(append(b, '*'), int64(len(words)))
	for _, word := range words {
		b = appendWord(b, word)
	}
	return b
}
