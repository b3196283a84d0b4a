package resp

import (
	"strconv"
	"strings"

	"github.com/joomcode/errorx"
)

// errorTypes types the errors that callers, or the library itself, act on, by the
// words that they begin with. Which of them are transient is a trait of the type.
var errorTypes = []struct {
	words string
	typ   *errorx.Type
}{
	{"LOADING", ErrLoading},
	{"CLUSTERDOWN", ErrClusterDown},
	{"TRYAGAIN", ErrTryAgain},
	{"READONLY", ErrReadOnly},
	{"MASTERDOWN", ErrMasterDown},
	{"BUSY", ErrBusy},
	{"ERR max number of clients", ErrMaxClients},
	{"EXECABORT", ErrExecAbort},
	{"NOSCRIPT", ErrNoScript},
}

// ErrorReply makes an error of the text that a server answered with.
func ErrorReply(text string) *errorx.Error {
	code, rest, _ := strings.Cut(text, " ")
	switch code {
	case "ERR":
		if scriptOnReplica(text) {
			return ErrReadOnly.New("%s", text)
		}
	case "MOVED":
		return redirectReply(ErrMoved, text, rest)
	case "ASK":
		return redirectReply(ErrAsk, text, rest)
	}
	for _, known := range errorTypes {
		if after, ok := strings.CutPrefix(text, known.words); ok && (after == "" || after[0] == ' ') {
			return known.typ.New("%s", text)
		}
	}
	shown := withoutArguments(code, text)
	err := ErrResult.New("%s", shown)
	if len(shown) != len(text) {
		err = err.WithProperty(EKText, text)
	}
	return err
}

// scriptOnReplica reports whether a replica refused a write of a script in the
// words of servers before Redis 7, which put READONLY inside of another error:
//
//	ERR Error running script (call to f_6b…b5): @user_script:1: @user_script: 1: -READONLY You can't write …
func scriptOnReplica(text string) bool {
	return strings.HasPrefix(text, "ERR Error running script (call to f_") &&
		strings.Contains(text, ": -READONLY You can't write against a read only ")
}

// redirectReply parses "SLOT ADDRESS". A script can make a server answer with
// any text, so a malformed one is an error like others.
func redirectReply(t *errorx.Type, text, rest string) *errorx.Error {
	number, addr, _ := strings.Cut(rest, " ")
	slot, err := strconv.ParseUint(number, 10, 14)
	switch {
	case addr == "" || strings.ContainsAny(addr, " \t"):
		return ErrResponseFormat.New("malformed redirect").WithProperty(EKLine, []byte(text))
	case !IsWhole([]byte(number)):
		return ErrIntegerParsing.New("malformed slot of a redirect").WithProperty(EKLine, []byte(text))
	case err != nil:
		return ErrResponseFormat.New("a redirect of a slot that there is not").WithProperty(EKLine, []byte(text))
	}
	return t.New("%s", text).
		WithProperty(EKSlot, int64(slot)).
		WithProperty(EKMovedTo, addr)
}
