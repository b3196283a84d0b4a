package memserver

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// mends are the commands that this server answers differently from miniredis, each with a function
// that does so. A function that returns false has written nothing.
var mends = map[string]func(*call) bool{
	"KEYS": unordered, "SMEMBERS": unordered, "SINTER": unordered, "SUNION": unordered, "SDIFF": unordered,
	"HKEYS": unordered, "HVALS": unordered, "HGETALL": unordered, "PUBSUB": unordered,
	"SCAN": scan, "HSCAN": scan, "SSCAN": scan, "ZSCAN": scan,

	"BLPOP": block, "BRPOP": block, "BRPOPLPUSH": block, "BLMOVE": block, "BLMPOP": block,
	"BZPOPMIN": block, "BZPOPMAX": block, "BZMPOP": block, "XREAD": block, "XREADGROUP": block,

	"CLIENT": client, "INFO": info, "SELECT": selectDB, "FLUSHALL": flush, "FLUSHDB": flush,
	"TTL": ttl, "HTTL": httl, "COPY": copyKey, "XLEN": once, "GETEX": getex, "HDEL": remove, "ZREM": remove,
	"HSET": hset, "HMSET": hset, "HSETEX": hsetex, "HEXPIRE": hexpire,
	"SADD": sadd, "SREM": sadd, "ZADD": zadd, "LREM": lrem, "XDEL": xdel, "XADD": xadd, "XTRIM": xtrim,
	"SET": set, "INCRBYFLOAT": incrFloat, "HINCRBYFLOAT": incrFloat, "SETBIT": setbit, "SETRANGE": setrange,
	"EVAL": script, "EVALSHA": script, "EVAL_RO": script, "EVALSHA_RO": script,
	"ZPOPMIN": zpop, "ZPOPMAX": zpop, "SDIFFSTORE": store, "SINTERSTORE": store, "SUNIONSTORE": store,
	"ZINTERSTORE": zstore, "ZUNIONSTORE": zstore, "ZINTER": zcombine, "ZUNION": zcombine, "BITCOUNT": emptyRange, "GETRANGE": emptyRange, "BITOP": bitop,
	"INCR": incr, "INCRBY": incr, "DECR": incr, "DECRBY": incr, "HINCRBY": incr, "ZINCRBY": zincrby,
	"LTRIM": ltrim, "WATCH": watch, "UNWATCH": watch, "PUBLISH": publish,
}

// mend answers the call with its function in mends, if there is one.
func (c *call) mend() bool {
	m := mends[c.cmd]
	return m != nil && m(c)
}

// known returns a command that miniredis knows, and whose arguments it checks in the same way as
// those of cmd.
func known(cmd string) string {
	if cmd == "BLMPOP" {
		return "BZMPOP"
	}
	return cmd
}

// databases is the default number of databases of a server.
const databases = 16

func selectDB(c *call) bool {
	n, err := strconv.Atoi(strings.Join(c.args, " "))
	if err == nil && n >= databases {
		c.WriteError("ERR DB index is out of range")
	}
	return err == nil && n >= databases
}

// client keeps the client's name in the connection's state.
func client(c *call) bool {
	sub := strings.ToUpper(strings.Join(c.args[:min(len(c.args), 1)], ""))
	switch {
	case c.conn == nil:
		return false
	case sub == "GETNAME" && len(c.args) == 1 && c.conn.peer.ClientName != "":
		c.WriteBulk(c.conn.peer.ClientName)
	case sub == "GETNAME" && len(c.args) == 1:
		c.WriteNull()
	case sub == "SETNAME" && len(c.args) == 2:
		if _, err := c.ask(c.cmd, c.args...); err != nil {
			return false
		}
		c.conn.peer.ClientName = c.args[1]
		c.WriteOK()
	default:
		return false
	}
	return true
}

// info adds the number of blocked clients, so that a test can wait until clients block.
func info(c *call) bool {
	text, err := c.ask(c.cmd, c.args...)
	const clients = "# Clients\n"
	before, after, found := strings.Cut(fmt.Sprint(text), clients)
	if err != nil || !found {
		return false
	}
	c.WriteBulk(fmt.Sprintf("%s%sblocked_clients:%d\r\n%s", before, clients, len(c.s.waiters), after))
	return true
}

// ttl rounds as servers do.
func ttl(c *call) bool {
	ms, err := c.ask("P"+c.cmd, c.args...)
	n, is := ms.(int)
	if err != nil || !is || n < 0 {
		return false
	}
	c.WriteInt((n + 500) / 1000)
	return true
}

// httl rounds up.
func httl(c *call) bool {
	value, err := c.ask("HPTTL", c.args...)
	all, _ := value.([]any)
	if err != nil || len(all) == 0 {
		return false
	}
	c.WriteLen(len(all))
	for _, ms := range all {
		n := ms.(int)
		if n > 0 {
			n = (n + 999) / 1000
		}
		c.WriteInt(n)
	}
	return true
}

// copyKey gives the copy the same time to live as the original, or none. For a hash, it does
// the same for each field.
func copyKey(c *call) bool {
	copied, err := c.ask(c.cmd, c.args...)
	if err != nil {
		return false
	}
	if ms, _ := c.ask("PTTL", c.args[0]); ms == -1 && len(c.args) == 3 && copied == 1 {
		c.also("PERSIST", c.args[1])
	}
	if copied == 1 && len(c.args) < 4 {
		c.copyFields(c.args[0], c.args[1])
	}
	c.WriteInt(copied.(int))
	return true
}

// once writes only the first reply of miniredis, which answers some commands twice.
func once(c *call) bool {
	n, err := c.ask(c.cmd, c.args...)
	if err != nil {
		c.WriteError(err.Error())
	} else {
		c.WriteInt(n.(int))
	}
	return true
}

// script accepts a hash in upper or lower case, and keeps the codes of errors.
func script(c *call) bool {
	args := slices.Clone(c.args)
	if strings.HasPrefix(c.cmd, "EVALSHA") && len(args) > 0 {
		args[0] = strings.ToLower(args[0])
	}
	out := newReply(c.Ctx, c.Resp3)
	c.s.srv.Dispatch(out.Peer, append([]string{c.cmd}, args...))
	c.WriteRaw(scriptError.ReplaceAllString(out.text(), "-$1"))
	return true
}

// scriptError is the beginning of miniredis's error for a command that a script called.
var scriptError = regexp.MustCompile(`^-ERR Error compiling script \(new function\): \S*: ([A-Z]+ )`)

// zpop removes nothing if COUNT is 0.
func zpop(c *call) bool {
	if len(c.args) != 2 || c.args[1] != "0" {
		return false
	}
	if _, err := c.ask("ZCARD", c.args[0]); err != nil {
		return false
	}
	c.WriteLen(0)
	return true
}

// store deletes the key instead of storing an empty result.
func store(c *call) bool {
	n, err := c.ask(c.cmd, c.args...)
	if err != nil {
		return false
	}
	if n == 0 {
		c.also("DEL", c.args[0])
	}
	c.WriteInt(n.(int))
	return true
}

// incr refuses a value that is a number but is not written as servers write numbers: 010, +1, -0. HINCRBY also refuses
// a sum that does not fit into an int64.
func incr(c *call) bool {
	read, want := "GET", map[string]int{"INCR": 1, "DECR": 1, "INCRBY": 2, "DECRBY": 2, "HINCRBY": 3}[c.cmd]
	if c.cmd == "HINCRBY" {
		read = "HGET"
	}
	if len(c.args) != want {
		return false
	}
	at := max(1, want-1)
	old, _ := c.ask(read, c.args[:at]...)
	text, _ := old.(string)
	switch {
	case len(c.args) > at && isOddNumber(c.args[at]), read == "GET" && isOddNumber(text):
		c.WriteError("ERR value is not an integer or out of range")
	case isOddNumber(text):
		c.WriteError("ERR hash value is not an integer")
	case read == "HGET" && overflows(text, c.args[at]):
		c.WriteError("ERR increment or decrement would overflow")
	default:
		return false
	}
	return true
}

// zincrby refuses an increment that is not a number, and to add inf and -inf.
func zincrby(c *call) bool {
	if len(c.args) != 3 {
		return false
	}
	more, err := strconv.ParseFloat(c.args[1], 64)
	switch {
	case err == nil && math.IsNaN(more):
		c.WriteError("ERR value is not a valid float")
	case c.makesNaN(c.args[0], c.args[1], c.args[2]):
		c.WriteError("ERR resulting score is not a number (NaN)")
	default:
		return false
	}
	return true
}
