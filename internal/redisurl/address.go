package redisurl

import (
	"net"
	"strings"
)

// MayHoldSecret reports whether text, where an address is expected, is neither a path nor
// a host, nor a host with a port: it may be a URL, or another client's settings, and hold
// a password. Such text is refused before anything else is done with it, and is in no
// error, event, name or statistic.
func MayHoldSecret(text string) bool {
	scheme, rest, found := strings.Cut(text, "://")
	switch {
	case found && scheme == "unix":
		return strings.Contains(rest, "?") || !isPath(rest) && strings.LastIndexByte(rest, '@') > 0 || isAuthority(rest)
	case found && scheme != "tcp":
		return true
	case found:
		text = rest
	case isPath(text):
		return isAuthority(text)
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil { // it may be a host alone
		host, port = text, ""
	}
	return strings.ContainsFunc(host, notOfHost) || strings.ContainsFunc(port, notOfPort) || err != nil && strings.Contains(host, ":")
}

// isPath reports whether text is a path by itself. It may hold an @, and so may a unix
// socket without a path, as its first byte.
func isPath(text string) bool { return strings.HasPrefix(text, "/") || strings.HasPrefix(text, ".") }

// isAuthority reports whether a path is what is left of a URL without its scheme.
func isAuthority(path string) bool {
	return strings.HasPrefix(path, "//") && strings.Contains(path, "@")
}

// notOfPort is for numbers and names, as http.
func notOfPort(r rune) bool {
	return !('0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r == '-')
}
