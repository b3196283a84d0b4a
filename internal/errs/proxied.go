package errs

import (
	"slices"
	"strings"

	"github.com/joomcode/errorx"
)

// Proxied returns an ErrProxy if a proxy, rather than the server, has answered with err. The
// request may have run, because the proxy may have forwarded it and stopped waiting for the answer.
// Errors with the texts below always come from a proxy. If proxy is set, the other side is known to
// be a proxy, and every error without a code in capitals also counts as the proxy's. If a proxy has
// closed the connection, Proxied adds to the error that a command may be the reason.
func Proxied(err *errorx.Error, proxy bool) *errorx.Error {
	known, _ := ProxyClosed(err)
	switch {
	case proxy && err.Type() == ErrIO && HungUp(err) && !known:
		return Like(err, err.Cause(), err.Message()+proxyClosed).WithProperty(EKProxyClosed, false)
	case err.Type() != ErrResult: // errors of other types have codes that only servers use
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

// ClosedAt is for the error of a request that was the only one in flight when the connection was
// lost. If a proxy has closed the connection, ClosedAt marks the request as the reason.
func ClosedAt(err *errorx.Error) *errorx.Error {
	if closed, at := ProxyClosed(err); closed && !at {
		return Like(err, err.Cause(), strings.Replace(err.Message(), proxyClosed, proxyClosedAt, 1)).WithProperty(EKProxyClosed, true)
	}
	return err
}

// ProxyClosed reports whether a proxy has closed the connection before it answered the request. at
// is set if the request was the only one in flight.
func ProxyClosed(err *errorx.Error) (closed, at bool) {
	value, closed := err.Property(EKProxyClosed)
	at, _ = value.(bool)
	return closed, at
}

const (
	proxyClosed   = ": a proxy closed the connection, as some do at a command that they do not know"
	proxyClosedAt = ": a proxy closed the connection at this request, as some do at a command that they do not know"
)

// envoySays are errors with which Envoy itself answers. If Envoy has split a request and some of
// its parts have failed, it answers with "finished with" and their number instead.
var envoySays = []string{"upstream failure", "upstream protocol error", "no upstream host"}

// networkSays are texts of the system. With ERR before them, twemproxy reports that it has lost a
// server.
var networkSays = []string{
	"Connection timed out", "Operation timed out", "Connection refused", "Connection reset by peer", "Broken pipe",
	"Host is down", "No route to host", "Network is unreachable", "Network is down", "Software caused connection abort",
}

// beginsWithCode reports whether an error begins with a word in capitals, as servers' errors do.
func beginsWithCode(text string) bool {
	code, _, _ := strings.Cut(text, " ")
	return len(code) > 1 && strings.ToUpper(code) == code && strings.ContainsFunc(code, func(r rune) bool { return r >= 'A' && r <= 'Z' })
}
