package main

import "strings"

// This file holds what COMMAND does not tell.

// keySpecs replaces the key specs of commands that servers mark as unknown or
// incomplete. The servers find those keys by code of their own.
var keySpecs = map[string]string{
	"SORT":    "{kind: byIndex, at: 1, step: 1}, {kind: bySort, at: 2}",
	"SORT_RO": "{kind: byIndex, at: 1, step: 1}",
	"MIGRATE": "{kind: byMigrate, at: 3}",
}

// classes are those of commands that change what the connection does.
var classes = map[string][]string{
	// SAVE is not flagged as blocking, but the server answers nobody meanwhile.
	// WAIT was not flagged before 7.2.
	"Blocks":        {"SAVE", "WAIT"},
	"BlocksIfAsked": {"XREAD", "XREADGROUP"},
	// CLIENT SETNAME and SETINFO are not here: all they change is what CLIENT
	// LIST shows. Neither are CLIENT KILL and PAUSE, DEBUG or SHUTDOWN, which
	// do to the server what their caller wants.
	"Session": {
		"ASKING", "AUTH", "DISCARD", "EXEC", "MULTI", "READONLY", "READWRITE", "SELECT", "UNWATCH", "WATCH",
		// What this connection's reads do to the age of keys, what may be
		// evicted, and what redirects look like.
		"CLIENT CACHING", "CLIENT CAPA", "CLIENT IMPORT-SOURCE", "CLIENT NO-EVICT", "CLIENT NO-TOUCH",
		// What HIMPORT SET of this connection finds.
		"HIMPORT DISCARD", "HIMPORT DISCARDALL", "HIMPORT PREPARE",
	},
	"Protocol": {
		// One request, any number of replies.
		"MONITOR", "PSUBSCRIBE", "PUNSUBSCRIBE", "SSUBSCRIBE", "SUBSCRIBE", "SUNSUBSCRIBE", "UNSUBSCRIBE",
		// The connection becomes a replica's, or a debugger's.
		"CLUSTER SYNCSLOTS", "PSYNC", "REPLCONF", "SCRIPT DEBUG", "SYNC",
		// No replies, replies of another form, pushes, an end, an unknown state.
		"CLIENT REPLY", "CLIENT TRACKING", "HELLO", "QUIT", "RESET",
	},
	"Twice": {"SET"},
}

// notReplicaSafe are commands with keys that are read-only and yet no matter
// for replicas: cursors of one server mean nothing to another, since each has a
// hash seed of its own; and TOUCH is there for what it does to the master.
var notReplicaSafe = []string{"CLUSTERSCAN", "HSCAN", "SSCAN", "TOUCH", "ZSCAN"}

// tableName is a command's name as requests have it.
func tableName(name string) string {
	return strings.ToUpper(strings.ReplaceAll(name, "|", " "))
}
