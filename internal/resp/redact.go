package resp

import (
	"slices"
	"strings"

	"github.com/joomcode/redispipe/internal/command"
)

// withoutArguments removes arguments from a server's error, because errors end up in logs. After
// the codes ERR and NOGROUP, servers quote arguments in quotation marks, after a colon, or as a
// number after a fixed phrase. Other codes come with fixed texts, or with texts that the author of
// a script or module chose; these are kept, like the texts that Lua adds.
func withoutArguments(code, text string) string {
	if !quotes(code) {
		return text
	}
	if isRaised(text) {
		return withoutCalled(text)
	}
	if shown, known := ofProtocol(text); known {
		return shown
	}
	return quotingNothing(code, text)
}

// quotes reports whether servers quote arguments after this code.
func quotes(code string) bool { return code == "ERR" || code == "NOGROUP" }

// isRaised reports whether a script raised the error, judging by its beginning.
func isRaised(text string) bool {
	return slices.ContainsFunc(raisedErrors, func(raised string) bool { return strings.HasPrefix(text, raised) })
}

// quotingNothing is withoutArguments for an error that no script raised.
func quotingNothing(code, text string) string {
	for _, bare := range bareArguments {
		if strings.HasPrefix(text, bare) {
			return bare
		}
	}
	for i := len(code); i < len(text); i++ {
		if text[i-1] == ' ' || text[i-1] == '(' {
			if n := quotedCommand(text[i:]); n > 0 && text[:i] == unknownCommand {
				return text[:i+n]
			} else if n > 0 && strings.HasPrefix(text[i+n:], " command") {
				i += n
				continue
			}
			if isQuote(text[i]) || isNumber(text[i:]) {
				return strings.TrimRight(text[:i], " -(")
			}
		}
		if text[i] == ':' && (i+1 == len(text) || text[i+1] == ' ') {
			return strings.TrimRight(text[:i], ": ")
		}
	}
	return text
}

// raisedErrors are the beginnings of errors that a script or a function raises, or that the Lua
// interpreter reports.
var raisedErrors = []string{
	"ERR user_script:", "ERR user_function:", "ERR @user_", "ERR Error running script",
	"ERR Error compiling script", "ERR Error compiling function:", "ERR Error registering functions:",
}

// withoutCalled returns the text of an error that a script raised. If a command that the script
// called has failed, it removes the arguments from the error of that command. Servers before Redis
// 7 put that error at the end:
//
//	ERR Error running script (call to f_6b…b5): @user_script:1: ERR Unknown node …
func withoutCalled(text string) string {
	for at := 0; ; {
		next := strings.Index(text[at:], ": ")
		if next < 0 {
			return text
		}
		at += next + len(": ")
		code, _, _ := strings.Cut(text[at:], " ")
		if quotes(code) && !isRaised(text[at:]) {
			return text[:at] + quotingNothing(code, text[at:])
		}
	}
}

// protocolErrors are texts that follow "ERR Protocol error: ". After them servers may quote a part
// of the request.
var protocolErrors = []string{
	"invalid bulk length", "invalid multibulk length", "unauthenticated bulk length", "unauthenticated multibulk length",
	"too big bulk count string", "too big mbulk count string", "too big inline request", "unbalanced quotes in request",
	"expected '$'",
}

// ofProtocol returns the part of a protocol error that may be shown.
func ofProtocol(text string) (shown string, known bool) {
	const protocol = "ERR Protocol error: "
	what, is := strings.CutPrefix(text, protocol)
	for _, phrase := range protocolErrors {
		if is && strings.HasPrefix(what, phrase) {
			return protocol + phrase, true
		}
	}
	return "", false
}

// bareArguments are phrases that are followed by an unquoted argument.
var bareArguments = []string{
	"ERR Unsupported option",
	"ERR Unknown argument", // FUNCTION LIST
	"ERR Unknown node",
	"ERR I don't know about node",
	"ERR Invalid node address specified",
	"ERR member", // Valkey 9: GEOSEARCH FROMMEMBER
}

const unknownCommand = "ERR unknown command "

// quotedCommand returns the length of the quotation at the start of text if it may be shown because
// it looks like the name of a command: see [command.Call.ShownName].
func quotedCommand(text string) int {
	if !isQuote(text[0]) {
		return 0
	}
	name, _, closed := strings.Cut(text[1:], text[:1])
	call := command.Of(strings.Replace(name, "|", " ", 1), nil)
	if !closed || name == "" || call.Info == nil && call.ShownName(name) != name {
		return 0
	}
	return len(name) + 2
}

func isQuote(b byte) bool { return b == '\'' || b == '"' || b == '`' }

// isNumber reports whether text begins with a number of two or more digits. Single digits occur in
// fixed phrases.
func isNumber(text string) bool {
	text = strings.TrimPrefix(text, "-")
	isDigit := func(i int) bool { return i < len(text) && '0' <= text[i] && text[i] <= '9' }
	return isDigit(0) && (isDigit(1) || len(text) > 1 && text[1] == '.' && isDigit(2))
}
