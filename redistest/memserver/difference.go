package memserver

import (
	"regexp"
	"strings"
)

// difference is a behaviour in which real servers and this one differ. Tests refer to it by its
// name.
type difference struct {
	name string
	text string
	// from is the first version of the real servers that differ, and before the first one that no longer does. Empty
	// means no such bound.
	// Valkey counts as 7.2.
	from, before string
	uses         string // the commands that cause a warning, separated by ;
	seen         bool   // the code that answers the command calls differs, which warns
}

// differences are the differences in values and order. testdata/differences.txt lists the results
// whose type differs.
var differences = []difference{
	{"text of scores", "scores are `0.1`; servers before 7.2 write `0.10000000000000001`", "", "7.2", "", false},
	{"several keys", "a client that waits for several keys gets an element of the first of them; servers before 7.2 use the key that was pushed to first", "", "7.2", "", true},
	{"count 0", "`XRANGE` and `XREVRANGE` with `COUNT 0` return all entries; servers return null", "", "", "XRANGE * * * COUNT 0; XREVRANGE * * * COUNT 0", false},
	{"xdel", "`XREADGROUP` of pending entries and `XAUTOCLAIM` do not return deleted entries, and the last ID can be added again after its entry was deleted or trimmed; " +
		"servers return the IDs, and refuse the entry", "", "", "XDEL ...", true},
	{"xinfo", "`XINFO` returns fewer fields, and `0` instead of `0-0`", "", "", "XINFO ...", false},
	{"deleted stream", "`XREADGROUP` returns `NOGROUP` if its stream is deleted while it waits; servers before 7.2 answer `UNBLOCKED`", "", "7.2", "", true},
	{"hyperloglog", "`PFADD` may return 1 although nothing changed, and `PFCOUNT` of several keys returns the sum; servers count the union", "", "", "PFADD ...", false},
	{"geodist", "distances differ in the fourth decimal", "", "", "GEODIST ...", false},
	{"swapdb", "`SWAPDB` does not abort a transaction that watches keys; servers abort it", "", "", "SWAPDB ...", false},
	{"patterns", "if several patterns of a connection match a channel, it gets the message once; servers send it for each", "", "", "PSUBSCRIBE * * ...", false},
	{"own message", "a RESP3 subscriber that publishes to itself gets the reply first; servers before 7.2 send the message first", "", "7.2", "", true},
	{"tonumber", "in scripts `tonumber('1e3')` is nil; servers return 1000", "", "", `EVAL /tonumber(?s:.*)[0-9]e[0-9+-]/ ...; EVAL /tonumber/ ... /^[0-9.]+e[0-9+-]+$/ ...`, false},
	{"tostring", "in scripts `tostring(10/3)` has 17 digits; servers write 14", "", "", "EVAL /tostring/ ...", false},
	{"cjson", "in scripts `cjson` encodes an empty table as `[]` (servers: `{}`), an array with a hole as nothing (`null` in the hole) and " +
		"`/` as it is (`\\/`), and decodes `null` as nil (`cjson.null`)", "", "", "EVAL /cjson/ ...; SCRIPT LOAD /cjson/", false},
	{"nested", "`MULTI` and `WATCH` within `MULTI` are refused, and the transaction continues; Valkey aborts it", "Valkey 8.1", "", "", true},
	{"ltrim", "an `LTRIM` that removes nothing aborts a transaction that watches the key; with Valkey it does not", "Valkey 8.1", "", "", true},
	{"script blocks", "in scripts `BLPOP` and similar commands fail; servers from 7.2 on return null", "7.2", "", "", true},
}

// warn reports each difference that the test uses, once.
func (s *Server) warn(c *call) {
	for _, d := range differences {
		if d.uses == "" {
			continue
		}
		for use := range strings.SplitSeq(d.uses, ";") {
			words := strings.Fields(use)
			if words[0] == c.cmd && matches(words[1:], c.args) {
				s.differs(d.name, c.cmd)
				break
			}
		}
	}
}

// differs reports a difference that a command has shown, unless it was reported before.
func (s *Server) differs(name, cmd string) {
	if s.noticed[name] {
		return
	}
	s.noticed[name] = true
	for _, d := range differences {
		if d.name == name {
			s.notice(cmd + ": " + d.text + " (docs/testing.md)")
		}
	}
}

// matches reports whether arguments fit a pattern: * is any argument, ... any number of them, and /…/ a regular expression.
func matches(pattern, args []string) bool {
	switch {
	case len(pattern) == 0:
		return len(args) == 0
	case pattern[0] == "...":
		return len(pattern) == 1 || len(args) > 0 && (matches(pattern[1:], args) || matches(pattern, args[1:]))
	case len(args) == 0:
		return false
	case len(pattern[0]) > 2 && pattern[0][0] == '/':
		if !regexp.MustCompile(strings.Trim(pattern[0], "/")).MatchString(args[0]) {
			return false
		}
	case pattern[0] != "*" && !strings.EqualFold(pattern[0], args[0]):
		return false
	}
	return matches(pattern[1:], args[1:])
}
