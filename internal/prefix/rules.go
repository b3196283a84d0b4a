package prefix

import (
	"strings"

	"github.com/joomcode/redispipe/internal/errs"
)

// rule tells what to rewrite in a command in addition to its keys.
type rule struct {
	// edit adds the prefix to arguments that the table of commands does not list as keys.
	edit  func(*rewriting)
	names Names
}

// ruleOf returns the rule for a command, if there is one. Rules count arguments after the first word of
// the command. A map of the rules would be part of every program, even of one that uses no prefix.
func ruleOf(name string) (_ rule, special bool) {
	switch name {
	case "BLPOP", "BRPOP", "BZPOPMAX", "BZPOPMIN", "LMPOP", "BLMPOP", "ZMPOP", "BZMPOP":
		return rule{names: InFirst}, true
	case "XREAD", "XREADGROUP":
		return rule{names: InStreams}, true
	case "KEYS":
		return rule{func(r *rewriting) { r.put(0, r.p.glob()) }, InList}, true
	case "SCAN", "CLUSTERSCAN":
		return rule{match, InScan}, true
	case "SORT", "SORT_RO":
		return rule{edit: sortOptions}, true
	case "GEORADIUS":
		return rule{edit: func(r *rewriting) { storeOptions(r, 5) }}, true
	case "GEORADIUSBYMEMBER":
		return rule{edit: func(r *rewriting) { storeOptions(r, 4) }}, true
	case "PUBLISH":
		return rule{edit: func(r *rewriting) { r.put(0, r.p) }}, true
	case "PUBSUB CHANNELS", "PUBSUB SHARDCHANNELS":
		return rule{pattern, InList}, true
	case "PUBSUB NUMSUB", "PUBSUB SHARDNUMSUB":
		return rule{channels, InPairs}, true
	case "CLUSTER KEYSLOT":
		return rule{edit: func(r *rewriting) { r.put(1, r.p) }}, true
	}
	return rule{}, false
}

// isKeyless reports whether a command is sent unchanged, because it neither reads nor changes keys. The
// cases list it by the first word of its name, or by both words. Other commands without keys, such as
// FLUSHALL and DBSIZE, are refused.
func isKeyless(name string) bool {
	first, second, _ := strings.Cut(name, " ")
	switch first {
	case "ASKING", "AUTH", "CLIENT", "COMMAND", "CONFIG", "DISCARD", "ECHO", "EXEC", "FUNCTION", "HELLO", "HIMPORT", "INFO",
		"LASTSAVE", "LATENCY", "LOLWUT", "MULTI", "PING", "READONLY", "READWRITE", "ROLE", "SCRIPT", "SELECT", "TIME", "UNWATCH", "WAIT", "WAITAOF":
		return true
	}
	switch name {
	case "CLUSTER INFO", "CLUSTER LINKS", "CLUSTER MYID", "CLUSTER MYSHARDID", "CLUSTER NODES", "CLUSTER REPLICAS",
		"CLUSTER SHARDS", "CLUSTER SLAVES", "CLUSTER SLOTS", "ACL WHOAMI", "MODULE LIST":
		return true
	case "PUBSUB NUMSUB", "PUBSUB SHARDNUMSUB": // these have no keys if there are no channels
		return true
	}
	return second == "HELP"
}

// match adds the prefix to the pattern of SCAN. If there is no pattern, it adds one.
func match(r *rewriting) {
	if len(r.args) == 0 {
		return
	}
	for i := 1; i+1 < len(r.args); i += 2 {
		if r.is(i, "MATCH") {
			r.put(i+1, r.p.glob())
		}
	}
	if !r.touched {
		r.changed, r.touched = append(r.args[:len(r.args):len(r.args)], "MATCH", string(r.p.glob())+"*"), true
	}
}

// pattern adds the prefix to the pattern of PUBSUB CHANNELS. If there is no pattern, it adds one.
func pattern(r *rewriting) {
	if len(r.args) == 1 {
		r.changed, r.touched = []any{r.args[0], string(r.p.glob()) + "*"}, true
		return
	}
	r.put(1, r.p.glob())
}

// channels adds the prefix to the channels of PUBSUB NUMSUB.
func channels(r *rewriting) {
	for i := 1; i < len(r.args); i++ {
		r.put(i, r.p)
	}
}

// sortOptions adds the prefix to the patterns of BY and GET, which name keys, and to each key after STORE.
func sortOptions(r *rewriting) {
	for i := 1; i+1 < len(r.args); i++ {
		switch {
		case r.is(i, "LIMIT"):
			i += 2
		case r.is(i, "GET") && r.is(i+1, "#"):
			i++
		case r.is(i, "BY"), r.is(i, "GET"):
			if strings.Contains(string(r.p), "*") {
				r.err = errs.ErrKeysUnknown.New("a prefix with an asterisk can't be added to the pattern of %s", r.name)
				return
			}
			i++
			r.put(i, r.p)
		case r.is(i, "STORE"):
			i++
			r.put(i, r.p)
		}
	}
}

// storeOptions adds the prefix to each key after STORE and STOREDIST. Servers use the last of them,
// but the table of commands only has the first.
func storeOptions(r *rewriting, from int) {
	for i := from; i+1 < len(r.args); i++ {
		switch {
		case r.is(i, "COUNT"):
			i++
		case r.is(i, "STORE"), r.is(i, "STOREDIST"):
			i++
			r.put(i, r.p)
		}
	}
}
