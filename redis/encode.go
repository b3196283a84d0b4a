package redis

import (
	"math"
	"strconv"
	"strings"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/wire"
)

// AppendRequest appends the request in RESP to buf. If an argument has a type
// that can't be encoded, it returns buf as it was and ErrArgumentType.
func AppendRequest(buf []byte, req Request) ([]byte, error) {
	out, bad := appendCommand(buf, req.Cmd, req.Args)
	if bad >= 0 {
		return buf, errArgument(req.Cmd, bad, req.Args[bad]).
			WithProperty(EKVal, req.Args[bad]).
			WithProperty(EKRequest, req)
	}
	return out, nil
}

// EncodeRequest appends the request to buf and returns what connections and clusters
// send, with buf. It is for packages redisconn and rediscluster.
func EncodeRequest(buf []byte, req Request, wantsSlot bool) (wire.Request, []byte, error) {
	out, err := AppendRequest(buf, req)
	if err != nil {
		return wire.Request{}, buf, err
	}
	r := wire.Request{Cmd: req.Cmd, Buf: out[len(buf):len(out):len(out)]}
	call := command.Of(req.Cmd, req.Args)
	r.Describe(&call, wantsSlot)
	return r, out, nil
}

// appendCommand appends the command to buf. When an argument can't be encoded
// it returns buf as it was and the argument's index, else -1. It keeps no
// reference to args: that is what lets a caller's arguments live on its stack.
func appendCommand(buf []byte, cmd string, args []any) ([]byte, int) {
	out := append(buf, '*')
	name, sub, split := strings.Cut(cmd, " ")
	words := 1
	if split {
		words = 2
	}
	out = appendLine(out, int64(words+len(args)))
	out = appendBulkString(out, name)
	if split {
		out = appendBulkString(out, sub)
	}
	for i, arg := range args {
		var ok bool
		if out, ok = appendArg(out, arg); !ok {
			return buf, i
		}
	}
	return out, -1
}

// appendArg appends one argument as a bulk string.
func appendArg(buf []byte, arg any) ([]byte, bool) {
	switch v := arg.(type) {
	case nil:
		return appendBulkString(buf, ""), true
	case string:
		return appendBulkString(buf, v), true
	case []byte:
		buf = appendLine(append(buf, '$'), int64(len(v)))
		buf = append(buf, v...)
		return append(buf, '\r', '\n'), true
	case bool:
		if v {
			return append(buf, "$1\r\n1\r\n"...), true
		}
		return append(buf, "$1\r\n0\r\n"...), true
	case float32:
		return appendBulkFloat(buf, float64(v), 32), true
	case float64:
		return appendBulkFloat(buf, v, 64), true
	}
	if v, ok := toInt64(arg); ok {
		return appendBulkInt(buf, v), true
	}
	if v, ok := toUint64(arg); ok {
		return appendBulkUint(buf, v), true
	}
	return buf, false
}

// ArgToString returns an argument as the text that is sent for it, and false
// if its type can't be sent.
func ArgToString(arg any) (string, bool) {
	switch v := arg.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case []byte:
		return string(v), true
	case bool:
		if v {
			return "1", true
		}
		return "0", true
	case float32:
		return strconv.FormatFloat(float64(v), 'f', -1, 32), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	if v, ok := toInt64(arg); ok {
		return strconv.FormatInt(v, 10), true
	}
	if v, ok := toUint64(arg); ok {
		return strconv.FormatUint(v, 10), true
	}
	return "", false
}

func toInt64(arg any) (int64, bool) {
	switch v := arg.(type) {
	case int:
		return int64(v), true
	case int64:
		return v, true
	case int32:
		return int64(v), true
	case int16:
		return int64(v), true
	case int8:
		return int64(v), true
	}
	return 0, false
}

func toUint64(arg any) (uint64, bool) {
	switch v := arg.(type) {
	case uint:
		return uint64(v), true
	case uint64:
		return v, true
	case uint32:
		return uint64(v), true
	case uint16:
		return uint64(v), true
	case uint8:
		return uint64(v), true
	case uintptr:
		return uint64(v), true
	}
	return 0, false
}

// appendLine appends a number and CRLF.
func appendLine(buf []byte, n int64) []byte {
	if 0 <= n && n < 10 {
		return append(buf, byte('0'+n), '\r', '\n')
	}
	return append(strconv.AppendInt(buf, n, 10), '\r', '\n')
}

func appendBulkString(buf []byte, s string) []byte {
	buf = appendLine(append(buf, '$'), int64(len(s)))
	buf = append(buf, s...)
	return append(buf, '\r', '\n')
}

func appendBulkInt(buf []byte, v int64) []byte {
	if v >= 0 {
		return appendBulkUint(buf, uint64(v))
	}
	magnitude := uint64(-(v + 1)) + 1 // -v would overflow for the least int64
	buf = appendLine(append(buf, '$'), int64(1+decimals(magnitude)))
	buf = strconv.AppendInt(buf, v, 10)
	return append(buf, '\r', '\n')
}

func appendBulkUint(buf []byte, v uint64) []byte {
	buf = appendLine(append(buf, '$'), int64(decimals(v)))
	buf = strconv.AppendUint(buf, v, 10)
	return append(buf, '\r', '\n')
}

func appendBulkFloat(buf []byte, v float64, bits int) []byte {
	exact := float64(1 << 53) // below, the digits of a whole number are its shortest decimal
	if bits == 32 {
		exact = 1 << 24
	}
	if v == math.Trunc(v) && math.Abs(v) < exact && (v != 0 || !math.Signbit(v)) {
		return appendBulkInt(buf, int64(v))
	}
	var digits [32]byte
	text := strconv.AppendFloat(digits[:0], v, 'f', -1, bits)
	buf = appendLine(append(buf, '$'), int64(len(text)))
	buf = append(buf, text...)
	return append(buf, '\r', '\n')
}

// decimals returns how many decimal digits v has.
func decimals(v uint64) int {
	n := 1
	for v >= 10 {
		v /= 10
		n++
	}
	return n
}

func equalFold(a, b string) bool { return len(a) == len(b) && strings.EqualFold(a, b) }
