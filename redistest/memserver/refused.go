package memserver

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Real servers refuse some requests that miniredis accepts, or refuse them before they change anything.

// set refuses options that exclude each other. If the time to live ends at once, it deletes the key.
func set(c *call) bool {
	var conditions, lifetimes []string
	over := 0 // the place of a time to live that ends at once
	for i := 2; i < len(c.args); i++ {
		switch option := strings.ToUpper(c.args[i]); option {
		case "NX", "XX":
			conditions = append(conditions, option)
		case "EX", "PX", "EXAT", "PXAT":
			lifetimes = append(lifetimes, option)
			if i++; i < len(c.args) && c.args[i] != "0" && c.over(option, c.args[i]) {
				over = i - 1
			}
		case "KEEPTTL":
			lifetimes = append(lifetimes, option)
		}
	}
	switch {
	case differ(conditions) || differ(lifetimes):
		c.WriteError("ERR syntax error")
	case over > 0: // miniredis would keep the time to live for the next value of the key
		exists, _ := c.ask("EXISTS", c.args[0])
		c.pass(c.cmd, slices.Delete(slices.Clone(c.args), over, over+2)...)
		if len(conditions) == 0 || (conditions[0] == "XX") == (exists == 1) {
			c.also("DEL", c.args[0])
		}
	default:
		return false
	}
	return true
}

// differ reports whether not all options are the same.
func differ(options []string) bool { return len(slices.Compact(options)) > 1 }

// incrFloat refuses sums that are not finite.
func incrFloat(c *call) bool {
	read, want := "GET", 2
	if c.cmd == "HINCRBYFLOAT" {
		read, want = "HGET", 3
	}
	if len(c.args) != want {
		return false
	}
	old, err := c.ask(read, c.args[:want-1]...)
	text, _ := old.(string)
	switch {
	case read == "HGET" && isInfinite(c.args[want-1]):
		c.WriteError("ERR value is NaN or Infinity")
	case err == nil && (isInfinite(text) || isInfinite(c.args[want-1])):
		c.WriteError("ERR increment would produce NaN or Infinity")
	default:
		return false
	}
	return true
}

// zstore refuses sources that are neither sorted sets nor sets, before it deletes the key that it replaces.
func zstore(c *call) bool {
	if len(c.args) < 3 {
		return false
	}
	n, err := strconv.Atoi(c.args[1])
	if err != nil || n < 1 || n > len(c.args)-2 {
		return false
	}
	for _, key := range c.args[2 : 2+n] {
		switch kind, _ := c.ask("TYPE", key); fmt.Sprint(kind) {
		case "zset", "set", "none":
		default:
			c.WriteError("WRONGTYPE Operation against a key holding the wrong kind of value")
			return true
		}
	}
	stored, err := c.ask(c.cmd, c.args...)
	if err != nil {
		return false
	}
	if stored == 0 {
		c.also("DEL", c.args[0])
	}
	c.zeroOdd(c.args[0])
	c.WriteInt(stored.(int))
	return true
}

// zeroOdd replaces scores that are not numbers, which are sums of inf and -inf, and those that are -0, by 0.
func (c *call) zeroOdd(key string) {
	pairs, _ := c.ask("ZRANGE", key, "0", "-1", "WITHSCORES")
	all, _ := pairs.([]any)
	for i := 1; i < len(all); i += 2 {
		if score := fmt.Sprint(all[i]); score == "-0" || strings.Contains(strings.ToLower(score), "nan") {
			c.also("ZREM", key, fmt.Sprint(all[i-1]))
			c.also("ZADD", key, "0", fmt.Sprint(all[i-1]))
		}
	}
}

// zcombine handles ZINTER and ZUNION, whose members are in the order of their scores.
func zcombine(c *call) bool {
	args, scores := c.args, []string(nil)
	if n := len(args); n > 0 && strings.EqualFold(args[n-1], "WITHSCORES") {
		args, scores = args[:n-1], args[n-1:]
	}
	if _, err := c.ask(c.cmd, c.args...); err != nil {
		return false
	}
	c.also(c.cmd+"STORE", append([]string{innerName}, args...)...)
	c.zeroOdd(innerName)
	c.pass("ZRANGE", append([]string{innerName, "0", "-1"}, scores...)...)
	c.also("DEL", innerName)
	return true
}

// emptyRange handles GETRANGE and BITCOUNT of a range that ends before it begins, counted from the end of the value.
func emptyRange(c *call) bool {
	if len(c.args) != 3 {
		return false
	}
	start, err := strconv.Atoi(c.args[1])
	end, err2 := strconv.Atoi(c.args[2])
	if _, err3 := c.ask("STRLEN", c.args[0]); err != nil || err2 != nil || err3 != nil || start >= 0 || end >= start {
		return false
	}
	if c.cmd == "GETRANGE" {
		c.WriteBulk("")
	} else {
		c.WriteInt(0)
	}
	return true
}

// bitop removes the key that it replaces, with its time to live.
func bitop(c *call) bool {
	if len(c.args) < 3 {
		return false
	}
	n, err := c.ask(c.cmd, append([]string{c.args[0], innerName}, c.args[2:]...)...)
	if err != nil {
		return false
	}
	c.also("DEL", c.args[1])
	if n != 0 {
		c.also("RENAME", innerName, c.args[1])
	}
	c.also("DEL", innerName)
	c.WriteInt(n.(int))
	return true
}
