package main

import (
	"go/token"
	"strings"
	"unicode"
)

// parts are the words in names of commands, as Go writes them. A name is split into as few parts as
// possible.
var parts = map[string]string{}

func init() {
	for _, part := range strings.Fields(`
		A ACL AOF Abort Ack Add All AndFlags Append Array Asking At Auth Auto Bg Backup Bit By ByFloat
		Caching Cancel CancelSlotMigrations Capa Card Cat Cfg Claim Cleanup Client Cluster Command CommandLog
		Config Consumer Consumers Copy Count CountFailureReports CountKeysInSlot Create CreateConsumer DB Dbl
		Debug Decr Del DelSlots DelUser Delete Diff Digest Dim Discard DiscardAll Dist Docs Doctor DryRun
		Dump Echo Emb Encoding Epoch Eval Ex Exec Exists Expire ExpireTime FCall Failover Field Float Flush
		FlushSlot FlushSlots Forget Freq Function GenPass Geo Get GetAll GetKeys GetKeysAndFlags GetKeysInSlot GetName
		GetRedir GetSlotMigrations GetUser Graph Grep Groups HImport Hash Help Histogram History HotKeys ID
		IdleTime IdmpRecord IfEq Import Incr IncrBy Index Info Insert Inter Is JSON KeySlot Keys Kill LCS Last LastItems LastSave
		Latency Latest Len Lex LibName Links List Load LoadEx Lolwut MallocStats Meet Member Members Memory
		Merge Migrate MigrateSlots Migration Module Move Multi MyID MyShardID NX Nack Next No NoEvict NoTouch Nodes
		NumPat NumSub Object Of Op PF Pending Persist Ping Pop Pos Prepare Pub Publish PubSub Purge Push Radius Rand Random
		RandomKey Range RankBy Rank Read ReadGroup ReadOnly ReadWrite RefCount Rem Rename Replace Replicas ReplicaOf Replicate Reset ResetStat
		Restore Rev Rewrite Ring Role SHA Save SaveConfig Scan Score Script Search Seal Seek Select Set SetAttr SetConfigEpoch SetID
		SetInfo SetName SetSlot SetUser Shard ShardChannels ShardNumSub Shards Show Shutdown SlaveOf Slaves SlotStats Slot
		SlowLog Slots Sort Start Stats Status Stop Store Str StrLen SubStr Sub SwapDB Sync TTL Time Touch Trim TrimSlots
		Type Unblock Union Unlink Unpause Unwatch Usage Users VSim Sim Vals Wait WhoAmI With Watch X BumpEpoch AddSlots AddSlotsRange DelSlotsRange
		B H L M P R S V Z Ar RO Channels Bound Attr Pause Config Pos Size Key Members Release Lock Import ImportSource Tracking TrackingInfo
		Log Source Reply Reports Report Failure Stat Malloc Monitor Subscribe Unsubscribe Stream Group Destroy Unload Self Test PopMax PopMin Rank RangeBy RemRangeBy CountKeys Store Max Min Asking Hello Quit Module And Blocking Name NX Ping`) {
		parts[strings.ToUpper(part)] = part
	}
}

// goName makes a Go name from the name of a command.
func goName(name string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == ' ' || r == '-' || r == '_' }) {
		b.WriteString(split(strings.ToUpper(word)))
	}
	return b.String()
}

// split splits a word into parts. An unknown rest becomes a part.
func split(word string) string {
	best := make([]string, len(word)+1)
	cost := make([]int, len(word)+1)
	for end := 1; end <= len(word); end++ {
		cost[end] = 1 << 20
		for begin := range end {
			part, known := parts[word[begin:end]]
			price := cost[begin] + 1
			if !known {
				part = word[begin:begin+1] + strings.ToLower(word[begin+1:end])
				price += 10 + 10*(end-begin)
			}
			if price < cost[end] {
				cost[end], best[end] = price, best[begin]+part
			}
		}
	}
	return best[len(word)]
}

// camel makes a Go name from the name of an argument.
func camel(name string, exported bool) string {
	var b strings.Builder
	up := exported
	for _, r := range strings.TrimPrefix(name, "the ") {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			up = up || b.Len() > 0
		case up:
			b.WriteRune(unicode.ToUpper(r))
			up = false
		default:
			b.WriteRune(r)
		}
	}
	name = b.String()
	if begin, ok := strings.CutSuffix(name, "Id"); ok && (begin != "" || exported) {
		name = begin + "ID"
	}
	return name
}

// paramName makes the name of a parameter.
func paramName(a *arg) string {
	switch a.name {
	case "seconds", "milliseconds", "ms":
		return "after"
	case "unix-time-seconds", "unix-time-milliseconds":
		return "at"
	case "len":
		return "most"
	case "min-idle-time":
		return "idle"
	case "destination-db":
		return "db"
	case "string":
		return "text"
	case "import", "range":
		return "ranges"
	case "type":
		return "typeName"
	case "data":
		return "elements"
	}
	name := camel(a.name, false)
	if token.IsKeyword(name) || name == "r" || name == "o" || name == "any" {
		name += "Of"
	}
	if a.multiple() && a.kind != "block" && a.kind != "oneof" && !strings.HasSuffix(name, "s") {
		name = plural(name)
	}
	return name
}

func plural(name string) string {
	if begin, ok := strings.CutSuffix(name, "y"); ok && begin != "ke" {
		return begin + "ies"
	}
	if strings.HasSuffix(name, "x") {
		return name + "es"
	}
	return name + "s"
}

// tokenName makes the Go name of a token.
func tokenName(token string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToUpper(r)
		}
		return -1
	}, token)
}
