package redisurl

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ParseEndpoint takes apart a host:port that a server writes. It is not ok if one of them is
// malformed. The port follows the last colon, because an IPv6 host has no brackets there. The host
// may be empty, and the port 0.
func ParseEndpoint(endpoint string) (host string, port int, ok bool) {
	colon := strings.LastIndexByte(endpoint, ':')
	if colon < 0 {
		return "", 0, false
	}
	host = endpoint[:colon]
	if len(host) > 1 && host[0] == '[' && host[len(host)-1] == ']' {
		host = host[1 : len(host)-1]
	}
	number, err := strconv.ParseUint(endpoint[colon+1:], 10, 16)
	if err != nil || !IsHost(host) {
		return "", 0, false
	}
	return host, int(number), true
}

// IsHost reports whether text may be a host, an IPv6 one without its brackets: it has nothing that
// is of other parts of an address or a URL, and nothing that forges a line where it is shown. It
// may be empty.
func IsHost(text string) bool { return !strings.ContainsFunc(text, notOfHost) }

func notOfHost(r rune) bool {
	return r == ' ' || r == utf8.RuneError || !unicode.IsPrint(r) || strings.ContainsRune(`[]/\@?#"<>=,;&`, r)
}
