package resp

import (
	"strconv"
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
)

// errorTypes maps the first words of an error to a type, for the errors that callers or the library
// act on. A trait of the type says whether the error is transient.
var errorTypes = []struct {
	words string
	typ   *errorx.Type
}{
	{"LOADING", errs.ErrLoading},
	{"CLUSTERDOWN", errs.ErrClusterDown},
	{"TRYAGAIN", errs.ErrTryAgain},
	{"READONLY", errs.ErrReadOnly},
	{"MASTERDOWN", errs.ErrMasterDown},
	{"BUSY", errs.ErrBusy},
	{"ERR max number of clients", errs.ErrMaxClients},
	{"UNBLOCKED force unblock from blocking operation,", errs.ErrUnblocked},
	{"EXECABORT", errs.ErrExecAbort},
	{"NOSCRIPT", errs.ErrNoScript},
}

// ErrorReply returns the error with the text that a server has sent.
func ErrorReply(text string) *errorx.Error {
	code, rest, _ := strings.Cut(text, " ")
	switch code {
	case "ERR":
		if scriptOnReplica(text) {
			return errs.ErrReadOnly.New("%s", text)
		}
	case "MOVED":
		return redirectReply(errs.ErrMoved, text, rest)
	case "ASK":
		return redirectReply(errs.ErrAsk, text, rest)
	case "REDIRECT":
		if isAddress(rest) {
			return errs.ErrRedirect.New("%s", text).WithProperty(errs.EKMovedTo, rest)
		}
	}
	for _, known := range errorTypes {
		if after, ok := strings.CutPrefix(text, known.words); ok && (after == "" || after[0] == ' ') {
			return known.typ.New("%s", text)
		}
	}
	shown := withoutArguments(code, text)
	err := errs.ErrResult.New("%s", shown)
	if len(shown) != len(text) {
		err = err.WithProperty(errs.EKText, text)
	}
	return err
}

// scriptOnReplica reports whether a replica refused a script's write. Servers before Redis 7 put
// READONLY inside another error:
//
//	ERR Error running script (call to f_6b…b5): @user_script:1: @user_script: 1: -READONLY You can't write …
func scriptOnReplica(text string) bool {
	return strings.HasPrefix(text, "ERR Error running script (call to f_") &&
		strings.Contains(text, ": -READONLY You can't write against a read only ")
}

// isAddress reports whether s is a host and a port, and nothing else.
func isAddress(s string) bool {
	colon := strings.LastIndexByte(s, ':')
	if colon < 1 || strings.ContainsAny(s, " \t") {
		return false
	}
	port, err := strconv.ParseUint(s[colon+1:], 10, 16)
	return err == nil && port > 0
}

// redirectReply parses "SLOT ADDRESS". A script can make the server answer with any text, so a
// malformed redirect is an ordinary error.
func redirectReply(t *errorx.Type, text, rest string) *errorx.Error {
	number, addr, _ := strings.Cut(rest, " ")
	slot, err := strconv.ParseUint(number, 10, 14)
	switch {
	case addr == "" || strings.ContainsAny(addr, " \t"):
		return badRedirect(errs.ErrResponseFormat, text, "malformed redirect")
	case !IsWhole([]byte(number)):
		return badRedirect(errs.ErrIntegerParsing, text, "malformed slot of a redirect")
	case err != nil:
		return badRedirect(errs.ErrResponseFormat, text, "the slot of a redirect does not exist")
	}
	return t.New("%s", text).
		WithProperty(errs.EKSlot, int64(slot)).
		WithProperty(errs.EKMovedTo, addr)
}
