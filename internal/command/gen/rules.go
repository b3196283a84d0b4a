package main

import "strings"

// This file adds facts about commands that COMMAND does not report.

// keySpecs replaces the key specs that servers mark as unknown or incomplete. The servers find
// those keys by special code.
var keySpecs = map[string]string{
	"SORT":    "{kind: byIndex, at: 1, step: 1}, {kind: bySort, at: 2}",
	"SORT_RO": "{kind: byIndex, at: 1, step: 1}",
	"MIGRATE": "{kind: byMigrate, at: 3}",

	"XREAD":      "{kind: byStreams, last: -1, step: 1, share: 2}",
	"XREADGROUP": "{kind: byStreams, last: -1, step: 1, share: 2}",
}

// classes are the commands that change the behaviour of the connection.
var classes = map[string][]string{
	// SAVE is not flagged as blocking, but the server answers nobody while it saves. WAIT was not
	// flagged before 7.2.
	"Blocks":        {"SAVE", "WAIT"},
	"BlocksIfAsked": {"XREAD", "XREADGROUP"},
	// CLIENT SETNAME and SETINFO are not here, because they only change the output of CLIENT LIST.
	// CLIENT KILL, CLIENT PAUSE, DEBUG and SHUTDOWN are not here, because their effect on the server
	// is intended.
	"Session": {
		"ASKING", "AUTH", "DISCARD", "EXEC", "MULTI", "READONLY", "READWRITE", "SELECT", "UNWATCH", "WATCH",
		// These decide whether reads of this connection refresh the age of keys, whether its keys may
		// be evicted, and the form of redirects.
		"CLIENT CACHING", "CLIENT CAPA", "CLIENT IMPORT-SOURCE", "CLIENT NO-EVICT", "CLIENT NO-TOUCH",
		// These commands prepare or discard the fields for HIMPORT SET on the same connection.
		"HIMPORT DISCARD", "HIMPORT DISCARDALL", "HIMPORT PREPARE",
	},
	"Protocol": {
		// The server answers these commands with any number of replies.
		"MONITOR", "PSUBSCRIBE", "PUNSUBSCRIBE", "SSUBSCRIBE", "SUBSCRIBE", "SUNSUBSCRIBE", "UNSUBSCRIBE",
		// The server then treats the connection as one of a replica or a debugger.
		"CLUSTER SYNCSLOTS", "PSYNC", "REPLCONF", "SCRIPT DEBUG", "SYNC",
		// These suppress replies, change their form, cause pushes, close the connection, or leave it
		// in an unknown state.
		"CLIENT REPLY", "CLIENT TRACKING", "HELLO", "QUIT", "RESET",
	},
	"Twice": {"SET"},
}

// notReplicaSafe are read-only commands with keys that must not go to a replica. The cursors of one
// server mean nothing to another, because each has its own hash seed. TOUCH is sent for its effect
// on the master.
var notReplicaSafe = []string{"CLUSTERSCAN", "HSCAN", "SSCAN", "TOUCH", "ZSCAN"}

// tableName is the name of a command in the form that requests use.
func tableName(name string) string {
	return strings.ToUpper(strings.ReplaceAll(name, "|", " "))
}
