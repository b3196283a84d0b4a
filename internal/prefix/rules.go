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

// rules are the rules by the name of the command. They count arguments after the first word of the
// command.
var rules = map[string]rule{
	"BLPOP": {names: InFirst}, "BRPOP": {names: InFirst}, "BZPOPMAX": {names: InFirst}, "BZPOPMIN": {names: InFirst},
	"LMPOP": {names: InFirst}, "BLMPOP": {names: InFirst}, "ZMPOP": {names: InFirst}, "BZMPOP": {names: InFirst},
	"XREAD": {names: InStreams}, "XREADGROUP": {names: InStreams},

	"KEYS":        {func(r *rewriting) { r.put(0, r.p.glob()) }, InList},
	"SCAN":        {match, InScan},
	"CLUSTERSCAN": {match, InScan},
	"SORT":        {sortOptions, NoNames},
	"SORT_RO":     {sortOptions, NoNames},

	"GEORADIUS":         {func(r *rewriting) { storeOptions(r, 5) }, NoNames},
	"GEORADIUSBYMEMBER": {func(r *rewriting) { storeOptions(r, 4) }, NoNames},

	"PUBLISH":              {func(r *rewriting) { r.put(0, r.p) }, NoNames},
	"PUBSUB CHANNELS":      {pattern, InList},
	"PUBSUB SHARDCHANNELS": {pattern, InList},
	"PUBSUB NUMSUB":        {channels, InPairs},
	"PUBSUB SHARDNUMSUB":   {channels, InPairs},
	"CLUSTER KEYSLOT":      {func(r *rewriting) { r.put(1, r.p) }, NoNames},
}

// keyless are commands that are sent unchanged, because they neither read nor change keys. They are
// listed by the first word of their names, or by both words. Other commands without keys, such as
// FLUSHALL and DBSIZE, are refused.
var keyless = func() map[string]bool {
	table := map[string]bool{}
	for _, name := range strings.Fields(`ASKING AUTH CLIENT COMMAND CONFIG DISCARD ECHO EXEC FUNCTION HIMPORT INFO
		LASTSAVE LATENCY LOLWUT MULTI PING READONLY READWRITE ROLE SCRIPT SELECT TIME UNWATCH WAIT WAITAOF`) {
		table[name] = true
	}
	for _, name := range strings.Fields(`INFO LINKS MYID MYSHARDID NODES REPLICAS SHARDS SLAVES SLOTS`) {
		table["CLUSTER "+name] = true
	}
	table["ACL WHOAMI"], table["MODULE LIST"] = true, true
	table["PUBSUB NUMSUB"], table["PUBSUB SHARDNUMSUB"] = true, true // these have no keys if there are no channels
	return table
}()

func isKeyless(name string) bool {
	first, second, _ := strings.Cut(name, " ")
	return keyless[first] || keyless[name] || second == "HELP"
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
				r.err = errs.ErrKeysUnknown.New("%s has a pattern, which can't have a prefix with an asterisk", r.name)
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
