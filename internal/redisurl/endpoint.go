package redisurl

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ParseEndpoint splits a host:port that a server reports. ok is false if it is malformed. The port
// follows the last colon, because servers write IPv6 hosts without brackets. The host may be empty,
// and the port 0.
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

// IsHost reports whether text may be a host. An IPv6 host has no brackets. A host contains no
// delimiters of addresses or URLs, and nothing that could forge a log line. It may be empty.
func IsHost(text string) bool { return !strings.ContainsFunc(text, notOfHost) }

func notOfHost(r rune) bool {
	return r == ' ' || r == utf8.RuneError || !unicode.IsPrint(r) || strings.ContainsRune(`[]/\@?#"<>=,;&`, r)
}
