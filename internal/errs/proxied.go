package errs

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/joomcode/errorx"
)

// Proxied returns the error of a proxy's own, if err is one: the proxy may have sent the request on, and
// not have waited for the answer. Whatever the other side is, that is certain of the texts below. If it
// is known to be a proxy, all errors without a code in capitals are its own. If it has closed the
// connection, the error says that this may be because of a command.
func Proxied(err *errorx.Error, proxy bool) *errorx.Error {
	switch {
	case proxy && err.Type() == ErrIO && errors.Is(err.Cause(), io.EOF) && !strings.HasSuffix(err.Message(), proxyClosed):
		return Like(err, err.Cause(), err.Message()+proxyClosed)
	case err.Type() != ErrResult: // the others have codes of a server's
		return err
	}
	text := err.Message()
	rest, hasCode := strings.CutPrefix(text, "ERR ")
	switch {
	case slices.Contains(envoySays, text), strings.HasPrefix(text, "finished with "):
	case hasCode && slices.ContainsFunc(networkSays, func(says string) bool { return strings.EqualFold(rest, says) }):
	case proxy && !hasCode && !beginsWithCode(text):
	default:
		return err
	}
	return ErrProxy.New("a proxy answered in place of the server, and the request may have run: %s", text)
}

const proxyClosed = ": a proxy closed the connection, as some do at a command that they do not know"

// envoySays is what Envoy answers by itself, behind "finished with", by which it tells how many parts of a
// request have failed that it has split.
var envoySays = []string{"upstream failure", "upstream protocol error", "no upstream host"}

// networkSays is what twemproxy answers by itself behind ERR: the reason why it has lost a server, in
// words of the system.
var networkSays = []string{
	"Connection timed out", "Operation timed out", "Connection refused", "Connection reset by peer", "Broken pipe",
	"Host is down", "No route to host", "Network is unreachable", "Network is down", "Software caused connection abort",
}

// beginsWithCode reports whether an error begins with a word in capitals, as those of servers do.
func beginsWithCode(text string) bool {
	code, _, _ := strings.Cut(text, " ")
	return len(code) > 1 && strings.ToUpper(code) == code && strings.ContainsFunc(code, func(r rune) bool { return r >= 'A' && r <= 'Z' })
}
