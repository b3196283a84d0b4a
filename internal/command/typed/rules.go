package main

// What servers do not report about arguments. overrides.txt replaces the arguments of some
// commands, in the form of a record.

// argKinds are the kinds (see leaves) of arguments, by command or by the type that servers report.
var argKinds = map[string]string{
	"string.value": "value", "string.element": "value", "string.member": "value",
	"string.message": "value", "string.pivot": "value",
	"integer.increment": "int64", "integer.decrement": "int64", "integer.cursor": "uint64",
	"integer.seconds": "seconds", "integer.milliseconds": "millis", "integer.ms": "millis",
	"integer.min-idle-time": "millis", "string.min-idle-time": "millis",
	"integer.timeout": "millis", "double.timeout": "decimal", "integer.ttl": "millis",
	"integer.maxage": "seconds", "integer.idmp-duration": "seconds",
	"integer.weight": "float", "ZINCRBY.increment": "float", "BITFIELD.value": "int64",
	"ZCOUNT.min": "score", "ZCOUNT.max": "score",
	"ZRANGEBYSCORE.min": "score", "ZRANGEBYSCORE.max": "score",
	"ZREVRANGEBYSCORE.min": "score", "ZREVRANGEBYSCORE.max": "score",
	"ZREMRANGEBYSCORE.min": "score", "ZREMRANGEBYSCORE.max": "score",
	"ZRANGE.start": "bound", "ZRANGE.stop": "bound", "ZRANGESTORE.min": "bound", "ZRANGESTORE.max": "bound",
	"integer.vector-value": "float",
}

// lowerCase are the tokens that are sent in lower case, because Redis 6.2 knows units of length
// only in lower case. All other tokens are sent in upper case, as in COMMAND DOCS.
var lowerCase = map[string]bool{"m": true, "km": true, "ft": true, "mi": true}

// leftOut has the commands without a function, each with the reason.
var leftOut = map[string]string{
	"ASKING": "a cluster sends it",
	"AUTH":   "Opts.Username and Opts.Password, and Reauthenticate",
}

// variants are the additional functions of a command: a suffix of the name, and the labels (see
// label) of the arguments that only this function has. The function may have an argument marked with
// *, and does not have one marked with -.
var variants = map[string][]string{
	"ACL LOG":           {"Count count", "Reset RESET"},
	"CLUSTER MEET":      {"BusPort cluster-bus-port"},
	"GEORADIUS":         {"Store store"},
	"GEORADIUSBYMEMBER": {"Store store"},
	"HRANDFIELD":        {"Count options", "WithValues options WITHVALUES"},
	"HSCAN":             {"NoValues NOVALUES"},
	"LCS":               {"Len LEN", "Idx IDX *MINMATCHLEN *WITHMATCHLEN"},
	"BLMOVEM":           {"Count how-many"},
	"LMOVEM":            {"Count how-many"},
	"LPOS":              {"Count COUNT"},
	"SET":               {"Value -condition -expiration", "Get GET"},
	"SORT":              {"Store STORE"},
	"VADD":              {"Reduce REDUCE"},
	"VEMB":              {"Raw RAW"},
	"VLINKS":            {"WithScores WITHSCORES"},
	"VSIM":              {"WithScores WITHSCORES", "WithAttribs WITHATTRIBS"},
	"XAUTOCLAIM":        {"JustID JUSTID"},
	"XCLAIM":            {"JustID JUSTID"},
	"XINFO STREAM":      {"Full FULL"},
	"XPENDING":          {"Range range", "RangeConsumer range consumer", "Idle IDLE range", "IdleConsumer IDLE range consumer"},
	"ZADD":              {"Incr INCR"},
	"ZDIFF":             {"WithScores WITHSCORES"},
	"ZINTER":            {"WithScores WITHSCORES"},
	"ZRANDMEMBER":       {"Count options", "WithScores options WITHSCORES"},
	"ZRANGE":            {"WithScores WITHSCORES"},
	"ZRANGEBYSCORE":     {"WithScores WITHSCORES"},
	"ZRANK":             {"WithScore WITHSCORE"},
	"ZREVRANGE":         {"WithScores WITHSCORES"},
	"ZREVRANGEBYSCORE":  {"WithScores WITHSCORES"},
	"ZREVRANK":          {"WithScore WITHSCORE"},
	"ZSCAN":             {"NoScores NOSCORES"},
	"ZUNION":            {"WithScores WITHSCORES"},
}

// makerRules are names of makers. The key is the token, and the first command that uses the shape: see
// nameMakers.
var makerRules = map[string]string{
	"BITFIELD GET": "GETBITS", "BITFIELD SET": "SETBITS", "BITFIELD INCRBY": "INCRBITS",
	"CLIENT KILL TYPE": "CLIENTTYPE", "CLIENT LIST TYPE": "CLIENTTYPE",
	"ARSCAN LIMIT": "LIMITTO", "ARGREP LIMIT": "LIMITTO",
}

// tooGeneral are names of arguments that mean nothing without the command.
var tooGeneral = map[string]bool{
	"Condition": true, "Mode": true, "Operation": true, "Filter": true, "Type": true, "Options": true,
	"Status": true, "Subcommand": true, "Attr": true, "Action": true, "By": true, "From": true,
	"Store": true, "Count": true, "Args": true, "Cancel": true, "Selector": true, "Target": true, "Policy": true,
	"Increment": true, "Vector": true, "Metrics": true, "Trim": true, "Idmp": true, "Predicate": true, "Format": true,
	"Filterby": true, "Enabled": true, "Skipme": true, "Overflow": true, "Ordering": true,
}

// choiceRules are names of choices that replace the generated ones.
var choiceRules = map[string]string{
	"ClientNoEvictEnabled": "Switch", "ClientKillSkipme": "Answer", "ClientCachingMode": "Answer",
	"GeoRadiusStore": "GeoRadiusDestination", "GeoDistUnit": "GeoUnit", "Wherefrom": "ListEnd", "LMPopWhere": "ListEnd", "ZMPopWhere": "ScoreEnd",
	"BitPosUnit": "BitUnit", "LInsertWhere": "Side",
}

// structRules are names of structs that replace the generated ones.
var structRules = map[string]string{
	"GeoAddData": "GeoMember", "ArMSetData": "ArrayElement", "ArDelRangeRange": "IndexRange",
	"ClusterAddSlotsRangeRange": "SlotRange", "ClusterMigrationImport": "SlotRange", "TrimSlotsSlots": "SlotSpan",
	"XReadStreams": "StreamID", "ModuleLoadExConfigs": "ModuleConfig",
}
