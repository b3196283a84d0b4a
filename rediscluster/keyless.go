package rediscluster

import (
	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
)

// Some commands without keys must not go to an arbitrary master, because its answer or effect would be
// only a part of what the user wants. Errors about them contain one of these hints.
const (
	hintEach = "it concerns every shard: use DoEachShard, or EachShard"
	hintScan = "use Scanner, which walks every shard"
	hintNode = "it concerns one node: use a connection to that node"
)

// keylessHint returns the hint for a command without keys that must not go to an arbitrary master, or
// "" if it may.
func keylessHint(name string) string {
	switch name {
	case "FLUSHALL", "FLUSHDB", "DBSIZE", "KEYS",
		"SCRIPT LOAD", "SCRIPT FLUSH", "SCRIPT EXISTS", "SCRIPT KILL",
		"FUNCTION LOAD", "FUNCTION DELETE", "FUNCTION FLUSH", "FUNCTION RESTORE", "FUNCTION KILL",
		"CONFIG SET", "CONFIG REWRITE", "CONFIG RESETSTAT",
		"HOTKEYS GET", "HOTKEYS RESET", "HOTKEYS START", "HOTKEYS STOP",
		"ACL SETUSER", "ACL DELUSER", "ACL LOAD", "ACL SAVE":
		return hintEach
	case "SCAN":
		return hintScan
	case "SHUTDOWN", "FAILOVER", "REPLICAOF", "SLAVEOF", "CLUSTER FAILOVER", "CLUSTER RESET",
		"CLUSTER REPLICATE", "CLUSTER SETSLOT", "CLUSTER ADDSLOTS", "CLUSTER ADDSLOTSRANGE",
		"CLUSTER DELSLOTS", "CLUSTER DELSLOTSRANGE", "CLUSTER FLUSHSLOTS", "CLUSTER FORGET",
		"CLUSTER MEET", "CLUSTER BUMPEPOCH", "CLUSTER SAVECONFIG", "CLUSTER SET-CONFIG-EPOCH",
		"CLUSTER MIGRATESLOTS", "CLUSTER MIGRATION", "CLUSTER CANCELSLOTMIGRATIONS", "CLUSTER GETSLOTMIGRATIONS", "TRIMSLOTS":
		return hintNode
	}
	return ""
}

// checkKeyless returns an error for a request without keys that must not go to an arbitrary master.
func checkKeyless(r *send.Request) *errorx.Error {
	call := command.Of(r.Cmd, []any{r.Arg(1)})
	if call.Info == nil {
		return nil
	}
	if hint := keylessHint(call.Name); hint != "" {
		return redis.ErrNoSlotKey.New("%s has no key to choose a shard by: %s", call.Name, hint)
	}
	return nil
}
