package memserver

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Real servers delete a field at once if its time to live is set to 0 or to a time in the past. Their HSET removes the
// time to live of a field, and their COPY keeps it. Miniredis does none of that.

// hset removes the time to live of the fields that it sets.
func hset(c *call) bool {
	if len(c.args) < 3 || len(c.args)%2 == 0 {
		return false
	}
	c.pass(c.cmd, c.args...)
	c.onFields("HPERSIST", everyOther(c.args[1:]))
	return true
}

// hexpire deletes the fields if their time to live is 0.
func hexpire(c *call) bool {
	if len(c.args) < 2 {
		return false
	}
	seconds, err := strconv.ParseInt(c.args[1], 10, 64)
	switch {
	case err != nil || seconds > 0:
		return false
	case seconds < 0:
		c.WriteError("ERR invalid expire time, must be >= 0")
		return true
	}
	value, err := c.ask(c.cmd, c.args...)
	codes, _ := value.([]any)
	if err != nil || len(codes) > len(c.args) {
		return false
	}
	fields := c.args[len(c.args)-len(codes):]
	var deleted []string
	c.WriteLen(len(codes))
	for i, code := range codes {
		n := code.(int)
		if n == 1 {
			n, deleted = 2, append(deleted, fields[i])
		}
		c.WriteInt(n)
	}
	c.onFields("HDEL", deleted)
	return true
}

// hsetex deletes the fields that it sets if their time to live ends at once.
func hsetex(c *call) bool {
	at := slices.IndexFunc(c.args, func(arg string) bool { return strings.EqualFold(arg, "FIELDS") })
	if at < 1 || len(c.args) < at+4 {
		return false
	}
	args, over := c.args[:1:1], false
	for i := 1; i < at; i++ {
		if i+1 < at && c.over(c.args[i], c.args[i+1]) {
			over = true
			i++ // miniredis refuses a time to live of 0
		} else {
			args = append(args, c.args[i])
		}
	}
	if !over {
		return false
	}
	set, err := c.ask(c.cmd, append(args, c.args[at:]...)...)
	if err != nil {
		return false
	}
	if set == 1 {
		c.onFields("HDEL", everyOther(c.args[at+2:]))
	}
	c.WriteInt(set.(int))
	return true
}

// over reports whether an option sets a time to live that ends at once.
func (c *call) over(option, value string) bool {
	when, err := strconv.ParseInt(value, 10, 64)
	if err != nil || when < 0 {
		return false
	}
	now, ok := timeOf(c.ask("TIME")) // not Server.time: if a script has called the command, only its own calls are answered
	if !ok {
		now = c.s.now()
	}
	switch strings.ToUpper(option) {
	case "EX", "PX":
		return when == 0
	case "EXAT":
		return when <= now.Unix()
	case "PXAT":
		return when <= now.UnixMilli()
	}
	return false
}

// onFields runs a command on fields of the call's key.
func (c *call) onFields(cmd string, fields []string) {
	switch {
	case len(fields) == 0:
	case cmd == "HDEL":
		c.also(cmd, append(c.args[:1:1], fields...)...)
	default:
		c.also(cmd, append([]string{c.args[0], "FIELDS", strconv.Itoa(len(fields))}, fields...)...)
	}
}

// copyFields gives the fields of the copy the same times to live as those of the original.
func (c *call) copyFields(from, to string) {
	keys, err := c.ask("HKEYS", from)
	all, _ := keys.([]any)
	if err != nil {
		return
	}
	for _, field := range texts(all) {
		left, _ := c.ask("HPTTL", from, "FIELDS", "1", field)
		if ms, _ := left.([]any); len(ms) == 1 && ms[0].(int) > 0 {
			value, _ := c.ask("HGET", from, field)
			c.also("HSETEX", to, "PX", strconv.Itoa(ms[0].(int)), "FIELDS", "1", field, fmt.Sprint(value))
		}
	}
}

// everyOther returns the names in a list of names and values.
func everyOther(pairs []string) (names []string) {
	for i := 0; i < len(pairs); i += 2 {
		names = append(names, pairs[i])
	}
	return names
}
