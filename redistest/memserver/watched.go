package memserver

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// On real servers, a command aborts a transaction that watches a key only if it changes the key.
// Miniredis misses some changes, and treats some commands that change nothing as changes.

// flush deletes the keys, and aborts transactions that watch them.
func flush(c *call) bool {
	ctx, first, last := fork(c.Ctx), 0, databases
	if c.cmd == "FLUSHDB" {
		last = 1
	}
	for ; first < last; first++ {
		if c.cmd == "FLUSHALL" {
			c.s.ask(&ctx, "SELECT", strconv.Itoa(first))
		}
		keys, _ := parse(c.s.ask(&ctx, "KEYS", "*"))
		if all, _ := keys.([]any); len(all) > 0 {
			c.s.ask(&ctx, "DEL", texts(all)...)
		}
	}
	return false
}

// touch aborts transactions that watch the key, without changing the key.
func (c *call) touch(key string) {
	c.also("RENAME", key, innerName)
	c.also("RENAME", innerName, key)
}

// getex counts as a change if it changes the time to live. It does
// not change a key of another type.
func getex(c *call) bool {
	before, _ := c.ask("PTTL", c.args[:min(len(c.args), 1)]...)
	if _, err := c.ask("STRLEN", c.args[:min(len(c.args), 1)]...); err != nil && len(c.args) > 0 {
		c.WriteError(err.Error())
		return true
	}
	c.pass(c.cmd, c.args...)
	if len(c.args) == 3 || len(c.args) == 2 && before != -1 {
		c.touch(c.args[0])
	}
	return true
}

// remove counts as a change if it removes something.
func remove(c *call) bool {
	n, err := c.ask(c.cmd, c.args...)
	if err != nil {
		return false
	}
	if n != 0 {
		c.touch(c.args[0])
	}
	c.WriteInt(n.(int))
	return true
}

// sadd handles SADD and SREM, which change nothing if the set already has all members, or has none
// of them.
func sadd(c *call) bool {
	if len(c.args) < 2 {
		return false
	}
	changes := map[string]any{"SADD": 0, "SREM": 1}[c.cmd]
	is, err := c.ask("SMISMEMBER", c.args...)
	all, _ := is.([]any)
	if err != nil || slices.Contains(all, changes) || len(all) == 0 {
		return false
	}
	c.WriteInt(0)
	return true
}

// lrem changes nothing if the list does not have the element.
func lrem(c *call) bool {
	if len(c.args) != 3 {
		return false
	}
	if at, err := c.ask("LPOS", c.args[0], c.args[2]); err != nil || at != nil {
		return false
	}
	c.WriteInt(0)
	return true
}

// xdel changes nothing if the stream does not have the entries.
func xdel(c *call) bool {
	if len(c.args) < 2 {
		return false
	}
	for _, id := range c.args[1:] {
		found, err := c.ask("XRANGE", c.args[0], id, id)
		if entries, _ := found.([]any); err != nil || len(entries) > 0 {
			return false
		}
	}
	c.WriteInt(0)
	return true
}

// setbit changes nothing if the string has the bit.
func setbit(c *call) bool {
	if len(c.args) != 3 {
		return false
	}
	size, err := c.ask("STRLEN", c.args[0])
	old, err2 := c.ask("GETBIT", c.args[:2]...)
	at, err3 := strconv.Atoi(c.args[1])
	if err != nil || err2 != nil || err3 != nil || at/8 >= size.(int) || fmt.Sprint(old) != c.args[2] {
		return false
	}
	c.WriteInt(old.(int))
	return true
}

// setrange changes nothing if the value is empty.
func setrange(c *call) bool {
	if len(c.args) != 3 || c.args[2] != "" {
		return false
	}
	size, err := c.ask("STRLEN", c.args[0])
	if at, err2 := strconv.Atoi(c.args[1]); err != nil || err2 != nil || at < 0 {
		return false
	}
	c.WriteInt(size.(int))
	return true
}

// zadd changes nothing if all members have their scores. It refuses a score that is not a number, and an
// increment that adds inf and -inf.
func zadd(c *call) bool {
	n := len(c.args)
	for i := n - 2; i > 0; i -= 2 {
		score, err := strconv.ParseFloat(c.args[i], 64)
		if err != nil {
			break
		}
		if math.IsNaN(score) {
			c.WriteError("ERR value is not a valid float")
			return true
		}
	}
	if n > 3 && strings.EqualFold(c.args[n-3], "INCR") && c.zaddIncr() {
		return true
	}
	if n < 3 || n%2 == 0 {
		return false
	}
	for pair := range slices.Chunk(c.args[1:], 2) {
		want, err := strconv.ParseFloat(pair[0], 64)
		score, _ := c.ask("ZSCORE", c.args[0], pair[1])
		text, _ := score.(string)
		got, err2 := strconv.ParseFloat(text, 64)
		if err != nil || err2 != nil || want != got {
			return false
		}
	}
	c.WriteInt(0)
	return true
}

// zaddIncr handles ZADD with INCR if the sum is not a number, or on the wrong side of the score for GT or LT.
func (c *call) zaddIncr() bool {
	options, increment, member := c.args[1:len(c.args)-2], c.args[len(c.args)-2], c.args[len(c.args)-1]
	if c.makesNaN(c.args[0], increment, member) {
		c.WriteError("ERR resulting score is not a number (NaN)")
		return true
	}
	score, _ := c.ask("ZSCORE", c.args[0], member)
	old, err := strconv.ParseFloat(fmt.Sprint(score), 64)
	more, err2 := strconv.ParseFloat(increment, 64)
	if err != nil || err2 != nil {
		return false
	}
	for _, option := range options {
		if strings.EqualFold(option, "GT") && old+more <= old || strings.EqualFold(option, "LT") && old+more >= old {
			c.WriteNull()
			return true
		}
	}
	return false
}

// watch records which keys a connection watches.
func watch(c *call) bool {
	switch {
	case c.conn == nil:
	case c.cmd == "UNWATCH":
		c.conn.watched = nil
	default:
		c.conn.watched = append(c.conn.watched, c.args...)
	}
	return false
}

// ltrim warns if it removes nothing from a list that a connection watches.
func ltrim(c *call) bool {
	if len(c.args) != 3 {
		return false
	}
	before, _ := c.ask("LLEN", c.args[0])
	c.pass(c.cmd, c.args...)
	if after, _ := c.ask("LLEN", c.args[0]); before == after && before != 0 && c.s.watches(c.args[0]) {
		c.s.differs("ltrim", c.cmd)
	}
	return true
}

// watches reports whether any connection watches the key.
func (s *Server) watches(key string) bool {
	s.connsMu.Lock()
	defer s.connsMu.Unlock()
	for _, c := range s.conns {
		if slices.Contains(c.watched, key) {
			return true
		}
	}
	return false
}
