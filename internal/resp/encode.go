package resp

import (
	"strconv"
	"time"

	"github.com/joomcode/redispipe/internal/command"
)

// AppendCommand appends the command to buf and returns -1. If an argument can't be encoded, it
// returns buf unchanged and the index of the argument. It keeps no reference to args, so that the
// caller's arguments can live on its stack.
func AppendCommand(buf []byte, cmd string, args []any) ([]byte, int) {
	end := 0 // the end of the command's name; for short names a loop is faster than strings.Cut
	for end < len(cmd) && cmd[end] != ' ' {
		end++
	}
	words := 1
	if end < len(cmd) {
		words = 2
	}
	out := AppendLength(append(buf, '*'), int64(words+len(args)))
	out = appendText(out, cmd[:end])
	if end < len(cmd) {
		out = appendText(out, cmd[end+1:])
	}
	for i, arg := range args {
		var ok bool
		if out, ok = AppendArg(out, arg); ok {
			continue
		}
		if out, ok = appendDuration(out, cmd, args, i); !ok {
			return buf, i
		}
	}
	return out, -1
}

// appendDuration appends a duration as the number that the command expects.
func appendDuration(buf []byte, cmd string, args []any, i int) ([]byte, bool) {
	d, ok := args[i].(time.Duration)
	if !ok {
		return buf, false
	}
	call := command.Of(cmd, args)
	var room [32]byte
	text, ok := call.AppendDuration(room[:0], i, d)
	if !ok {
		return buf, false
	}
	return appendText(buf, text), true
}

// AppendArg appends one argument as a bulk string. It returns false if its type can't
// be sent.
func AppendArg(buf []byte, arg any) ([]byte, bool) {
	switch v := arg.(type) {
	case nil:
		return appendText(buf, ""), true
	case string:
		return appendText(buf, v), true
	case []byte:
		return appendText(buf, v), true
	}
	// The length of nearly all numbers has one digit, so such numbers are written in place.
	at := len(buf)
	out, ok := command.AppendNumber(append(buf, "$0\r\n"...), arg)
	n := len(out) - at - len("$0\r\n")
	switch {
	case !ok:
		return buf, false
	case n < 10:
		out[at+1] += byte(n)
		return append(out, crlf...), true
	}
	var room [32]byte
	text := append(room[:0], out[len(out)-n:]...)
	return appendText(out[:at], text), true
}

// ArgText returns an argument as the text that is sent for it, and false if its type
// can't be sent.
func ArgText(arg any) (string, bool) {
	switch v := arg.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case []byte:
		return string(v), true
	}
	var room [32]byte
	text, ok := command.AppendNumber(room[:0], arg)
	return string(text), ok
}

// AppendLength appends a number and CRLF.
func AppendLength(buf []byte, n int64) []byte {
	if 0 <= n && n < 10 {
		return append(buf, byte('0'+n), '\r', '\n')
	}
	return append(strconv.AppendInt(buf, n, 10), crlf...)
}

// appendText appends a bulk string.
func appendText[T string | []byte](buf []byte, text T) []byte {
	if n := len(text); n < 10 {
		buf = append(buf, '$', byte('0'+n), '\r', '\n')
	} else {
		buf = AppendLength(append(buf, '$'), int64(n))
	}
	buf = append(buf, text...)
	return append(buf, crlf...)
}
