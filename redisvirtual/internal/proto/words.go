package proto

import (
	"bytes"
	"strings"

	"github.com/joomcode/redispipe/internal/send"
)

// Name returns the first word of a request that [Scan.Next] has found.
func Name(request []byte) []byte {
	at := bytes.IndexByte(request, '\n') + 1
	n := 0
	for at++; request[at] != '\r'; at++ {
		n = n*10 + int(request[at]-'0')
	}
	return request[at+2:][:n]
}

// Words returns the words after the first one, as []byte.
func Words(request []byte) []any {
	r := send.Request{Buf: request}
	args := make([]any, 0, r.Words()-1)
	for i, word := range r.All {
		if i > 0 {
			args = append(args, word)
		}
	}
	return args
}

// Text converts a word of [Words] to a string.
func Text(word any) string { return string(word.([]byte)) }

// Upper converts a word of [Words] to upper case.
func Upper(word any) string { return strings.ToUpper(Text(word)) }
