package resp

import (
	"bytes"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
)

// bad makes each error of a reply that is not what the protocol, or the limits, allow. kind
// is the type of the value that is at fault: '+', '$', ...
func bad(t *errorx.Type, kind byte, format string, args ...any) *errorx.Error {
	return t.New("%q: "+format, append([]any{kind}, args...)...)
}

// badLine is bad for the first line of a value, of which it keeps as much as it takes to
// recognize it.
func badLine(t *errorx.Type, line []byte) *errorx.Error {
	const kept = 64
	return bad(t, line[0], "bad header line of %d bytes", len(line)).
		WithProperty(errs.EKLine, bytes.Clone(line[:min(len(line), kept)]))
}

// badEnd says why a line is not ended.
func badEnd(line []byte) *errorx.Error {
	if len(line) == 1 || string(line) == crlf {
		return bad(errs.ErrHeaderlineEmpty, line[0], "header line is empty")
	}
	return bad(errs.ErrNoFinalRN, line[0], "header line does not end in CRLF")
}

// badTail is bad for a string.
func badTail(h header) *errorx.Error {
	return bad(errs.ErrNoFinalRN, h.kind, "string is not followed by CRLF")
}

// badRedirect is bad for the text of an error that begins as a redirect does.
func badRedirect(t *errorx.Type, text, why string) *errorx.Error {
	return bad(t, '-', "%s", why).WithProperty(errs.EKLine, []byte(text))
}
