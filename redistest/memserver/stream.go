package memserver

import (
	"cmp"
	"strconv"
	"strings"
)

// Real servers check all options of XADD and XTRIM, and trim approximately only whole nodes. Miniredis ignores some options,
// and leaves an empty stream if it refuses the entry of a new one.

// node is how many entries a node of a stream has by default.
const node = 100

// trim is the part of XADD and XTRIM that removes entries.
type trim struct {
	by     string // MAXLEN or MINID, or empty
	least  string // the number of entries that stay, or the ID of the first entry that stays
	nearly bool   // only whole nodes are removed
	limit  bool   // LIMIT was given
}

// option reads an option at the beginning of args. It returns how many words the option has, which is 0 if there is none,
// and an error for the client.
func (t *trim) option(args []string) (words int, err string) {
	name := strings.ToUpper(args[0])
	if len(args) < 2 || name != "MAXLEN" && name != "MINID" && name != "LIMIT" {
		return 0, ""
	}
	words = 2
	if name != "LIMIT" {
		if t.by != "" {
			return 0, "ERR syntax error"
		}
		if len(args) > 2 && (args[1] == "~" || args[1] == "=") {
			t.nearly, words = args[1] == "~", 3
		}
		t.by, t.least = name, args[words-1]
	}
	if name == "MINID" {
		if !isID(t.least) {
			return 0, invalidID
		}
		return words, ""
	}
	t.limit = t.limit || name == "LIMIT"
	if n, err := strconv.Atoi(args[words-1]); err != nil || isOddNumber(args[words-1]) {
		return 0, "ERR value is not an integer or out of range"
	} else if n < 0 {
		return 0, "ERR The " + name + " argument must be >= 0."
	}
	return words, ""
}

const invalidID = "ERR Invalid stream ID specified as stream command argument"

// isID reports whether a text is the ID of an entry, perhaps without its second part.
func isID(text string) bool {
	first, second, both := strings.Cut(text, "-")
	_, err := strconv.ParseUint(first, 10, 64)
	if err == nil && both {
		_, err = strconv.ParseUint(second, 10, 64)
	}
	return err == nil
}

// xadd adds the entry, and then trims the stream.
func xadd(c *call) bool {
	if len(c.args) < 4 {
		return false
	}
	var t trim
	plain, rest := c.args[:1:1], c.args[1:]
	for len(rest) > 0 {
		words, err := t.option(rest)
		if err != "" {
			c.WriteError(err)
			return true
		}
		if words == 0 {
			if !strings.EqualFold(rest[0], "NOMKSTREAM") {
				break
			}
			plain, words = append(plain, rest[0]), 1
		}
		rest = rest[words:]
	}
	if len(rest) < 3 || t.limit && !t.nearly {
		c.WriteError("ERR syntax error")
		return true
	}
	if id := strings.TrimSuffix(rest[0], "-*"); rest[0] != "*" && (!isID(id) || id == "0-0" || id == "0" && id == rest[0]) {
		c.WriteError(invalidID)
		return true
	}
	if first, is := strings.CutSuffix(rest[0], "-*"); is { // miniredis would take the next higher ID
		if last, _ := c.ask("XRANGE", c.args[0], first+"-18446744073709551615", "+", "COUNT", "1"); last != nil && len(last.([]any)) > 0 {
			c.WriteError("ERR The ID specified in XADD is equal or smaller than the target stream top item")
			return true
		}
	}
	before, _ := c.ask("EXISTS", c.args[0])
	id, err := c.ask(c.cmd, append(plain, rest...)...)
	switch after, _ := c.ask("EXISTS", c.args[0]); {
	case err != nil && before == 0 && after == 1:
		c.also("DEL", c.args[0])
		c.WriteError(err.Error())
	case err != nil:
		c.WriteError(err.Error())
	case id == nil:
		c.WriteNull()
	default:
		_, _ = c.trim(t)
		c.WriteBulk(id.(string))
	}
	return true
}

// xtrim trims a stream.
func xtrim(c *call) bool {
	if len(c.args) < 3 {
		return false
	}
	var t trim
	for rest := c.args[1:]; len(rest) > 0; {
		words, err := t.option(rest)
		if words == 0 {
			c.WriteError(cmp.Or(err, "ERR syntax error"))
			return true
		}
		rest = rest[words:]
	}
	if t.by == "" || t.limit && !t.nearly {
		c.WriteError("ERR syntax error")
		return true
	}
	n, err := c.trim(t)
	if err != nil {
		c.WriteError(err.Error())
		return true
	}
	c.WriteInt(n)
	return true
}

// trim removes entries of the call's stream, and returns how many.
func (c *call) trim(t trim) (removed int, err error) {
	if t.by == "" {
		return 0, nil
	}
	size, err := c.ask("XLEN", c.args[0])
	if err != nil {
		return 0, err
	}
	if t.nearly {
		all := size.(int)
		below := 0
		if t.by == "MINID" {
			entries, _ := c.ask("XRANGE", c.args[0], "-", "("+t.least)
			list, _ := entries.([]any)
			below = len(list)
		} else if least, _ := strconv.Atoi(t.least); least < all {
			below = all - least
		}
		if below != all { // the last node may have fewer entries
			below -= below % node
		}
		t.by, t.least = "MAXLEN", strconv.Itoa(all-below)
	}
	n, err := c.ask("XTRIM", c.args[0], t.by, t.least)
	if err != nil {
		return 0, err
	}
	if n.(int) > 0 && n == size {
		c.s.differs("xdel", c.cmd)
	}
	return n.(int), nil
}
