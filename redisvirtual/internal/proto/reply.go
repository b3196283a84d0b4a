package proto

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/redis"
)

// Replies of one line.
const (
	OK     = "+OK\r\n"
	Queued = "+QUEUED\r\n"
	Reset  = "+RESET\r\n"
)

// AppendError appends an error reply, which is one line.
func AppendError(b []byte, text string) []byte {
	text = strings.NewReplacer("\r", " ", "\n", " ").Replace(text)
	return append(append(append(b, '-'), text...), "\r\n"...)
}

// AppendResult encodes a decoded result as a server would have sent it. It is needed in sessions, and if the
// connection decodes all replies (Opts.Integrity, statistics of requests). If several types decode to the
// same value, it uses the most common one: a null string for null in RESP2, and an array for a set.
func AppendResult(b []byte, res any, protocol int) []byte {
	switch r := res.(type) {
	case nil:
		return AppendNull(b, protocol)
	case string:
		if strings.ContainsAny(r, "\r\n") { // it was a verbatim string
			return AppendWord(b, r)
		}
		return append(append(append(b, '+'), r...), "\r\n"...)
	case []byte:
		return AppendWord(b, r)
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
			b = AppendResult(b, el, protocol)
		}
		return b
	case map[string]any:
		b = resp.AppendLength(append(b, '%'), int64(len(r)))
		for key, value := range r {
			b = AppendResult(AppendWord(b, key), value, protocol)
		}
		return b
	case error:
		if err := redis.AsErrorx(r); err.IsOfType(redis.ErrExecEmpty) {
			return AppendNull(b, protocol)
		}
		return AppendError(b, textOf(redis.AsErrorx(r)))
	}
	return AppendError(b, "ERR a reply that can't be passed on")
}

// AppendNull appends a null string in the form of the protocol.
func AppendNull(b []byte, protocol int) []byte {
	if protocol == 3 {
		return append(b, "_\r\n"...)
	}
	return append(b, "$-1\r\n"...)
}

// AppendWord appends a string.
func AppendWord[W string | []byte](b []byte, word W) []byte {
	b = resp.AppendLength(append(b, '$'), int64(len(word)))
	return append(append(b, word...), "\r\n"...)
}

// AppendWords appends a request with these words.
func AppendWords[W string | []byte](b []byte, words []W) []byte {
	b = resp.AppendLength(append(b, '*'), int64(len(words)))
	for _, word := range words {
		b = AppendWord(b, word)
	}
	return b
}

// textOf returns the whole text of a server's error.
func textOf(err *errorx.Error) string {
	if text, ok := err.Property(redis.EKText); ok {
		return text.(string)
	}
	return err.Message()
}
