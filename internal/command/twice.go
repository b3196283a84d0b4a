package command

// harmless commands change nothing, though servers do not call them read-only.
var harmless = map[string]bool{
	"ECHO": true, "INFO": true, "LASTSAVE": true, "PING": true, "ROLE": true, "TIME": true,
}

// rewrites are the commands that remove data, or set it to a value that does not depend on the old
// one. Running such a command twice leaves the server in the same state as running it once, though
// the second reply may differ, because it counts what the second run has changed. Each command is
// listed with the options for which that is not true, and those whose users rely on the reply. A
// command must not run twice if it depends on a condition, adds to existing data, returns what it
// removes, or is not in the table.
var rewrites = map[string][]string{
	"DEL": nil, "UNLINK": nil, "MSET": nil, "SETEX": nil, "PSETEX": nil, "SETRANGE": nil,
	"SET":      {"NX", "XX", "GET", "IFEQ", "IFNE", "IFDEQ", "IFDNE"},
	"EXPIREAT": {"NX", "XX", "GT", "LT"}, "PEXPIREAT": {"NX", "XX", "GT", "LT"},
	"HSET": nil, "HMSET": nil, "HDEL": nil, "LSET": nil, "SADD": nil, "SREM": nil, "ZREM": nil,
	"ZADD": {"NX", "XX", "GT", "LT", "CH", "INCR"},
}

// RunsTwice reports whether the call may run twice: because it changes nothing or, if writes is
// set, because a second run changes nothing more.
func (c *Call) RunsTwice(writes bool) bool {
	switch {
	case c.Info == nil:
		return false
	case c.Reads(), harmless[c.Name]:
		return true
	case !writes:
		return false
	}
	unless, rewrites := rewrites[c.Name]
	for _, option := range unless {
		if c.find(option, c.optionsAt()) != 0 {
			return false
		}
	}
	return rewrites
}

// RunsCode reports whether the call runs code that may answer with an error after it has changed
// something: a script, a function, or a command that is not in the table. The text of its error does
// not prove that nothing ran.
func (c *Call) RunsCode() bool {
	return c.Info == nil || c.Named("EVAL") || c.Named("EVALSHA") || c.Named("FCALL")
}

// optionsAt returns the first position that may have one of the options in rewrites. A value that
// looks like an option counts as an option, which does no harm.
func (c *Call) optionsAt() int {
	if c.Named("ZADD") {
		return 2
	}
	return 3
}
